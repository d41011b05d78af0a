"""`zuno migrate ID`: a position's liquidity into a pool of the same pair of another protocol."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui.app.feature import ActionMaker
from zuno_tui.catalog.command import Command, Group, Verb, of_selected, with_positions
from zuno_tui.intents.intent import write_ref
from zuno_tui.intents.intents import MigratePosition

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.intents.remaining import Remaining

_FEE = re.compile(r"(?P<percent>[0-9]{1,2}(?:\.[0-9]{1,4})?)%", re.ASCII)
_PIPS = 10_000


def _read(said: Remaining) -> MigratePosition:
    ref = said.leading_position()
    words = tuple(word for word in said.text.lower().split() if word not in ("to", "into", "in"))
    _wanted(words)
    return MigratePosition(ref, words)


def _wanted(words: tuple[str, ...]) -> tuple[str | None, int | None]:
    """The protocol and the fee in pips, where they are named."""
    from chain.protocols.rows import PROTOCOLS
    from zuno_tui.intents.phrase_error import PhraseError

    protocol: str | None = None
    fee: int | None = None
    for word in (word.lower() for word in words):
        if word in {row.name for row in PROTOCOLS}:
            protocol = word
        elif match := _FEE.fullmatch(word):
            fee = round(float(match["percent"]) * _PIPS)
        elif word not in ("to", "into", "in", "pool"):
            raise PhraseError(
                f"{word!r} is neither a protocol nor a fee. Say it like: zuno migrate 3:4 v4 0.3%",
                "",
            )
    return protocol, fee


def _migrate(session: Session, intent: MigratePosition) -> ActionMaker:
    from zuno_tui.gate.actions.moving import action_to_migrate

    protocol, fee = _wanted(intent.to)
    return lambda sources: action_to_migrate(sources, intent.ref, session.address, protocol, fee)


COMMAND = Command(
    does="move a v3 position into v4, or the other way",
    examples=("zuno migrate 3:4", "zuno migrate 3:4 to v4 0.3%"),
    group=Group.ACTING,
    intent=MigratePosition,
    action=_migrate,
    verbs=(
        Verb(
            "migrate",
            _read,
            "migrate ID [to v4] [FEE]",
            names="positions",
            money=True,
            possible=with_positions,
        ),
    ),
    suggest=of_selected(lambda ref: f"migrate {write_ref(ref)}", on=("v3",)),
)
