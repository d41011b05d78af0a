"""What each role usually asks of a model in a debate, to say what one would cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from agents.lp.payloads import ARBITER, CRITIC, SCOUT, STRATEGIST

if TYPE_CHECKING:
    from agents.bus.envelope import Role


class UsualTokens(NamedTuple):
    tokens_in: int
    tokens_out: int


USUAL_TOKENS: Mapping[Role, UsualTokens] = {
    SCOUT: UsualTokens(3_000, 300),
    STRATEGIST: UsualTokens(3_500, 800),
    CRITIC: UsualTokens(3_500, 600),
    ARBITER: UsualTokens(2_000, 250),
}
"""Of two rounds that Arbiter ends, with one look-up of Scout's; thinking comes on top."""
