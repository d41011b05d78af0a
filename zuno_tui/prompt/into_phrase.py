"""Where `migrate 3:4 to v4 0.3%` is to go: a protocol, a pool's fee, both or neither."""

import re
from collections.abc import Iterable

from agents.lp.facts import IntoGoal
from chain.base.units import read_numeral
from chain.protocols.rows import PROTOCOLS
from zuno_tui.intents.phrase_error import PhraseError

_FEE = re.compile(r"(?P<percent>[0-9]{1,2}(?:\.[0-9]{1,4})?)%", re.ASCII)
_PIP_DIGITS = 4
_FILLING = frozenset(("to", "into", "in", "pool", "at", "with", "the", "fee", "tier", "from"))


def read_into(words: Iterable[str]) -> IntoGoal:
    protocol: str | None = None
    fee: int | None = None
    for word in (word.lower() for word in words):
        if word in {row.name for row in PROTOCOLS}:
            protocol = word
        elif match := _FEE.fullmatch(word):
            fee = read_numeral(match["percent"]).scale(_PIP_DIGITS)
        elif word not in _FILLING:
            raise PhraseError(
                f"{word!r} is neither a protocol nor a fee. Say it like: zuno migrate 3:4 v4 0.3%",
                "",
            )
    return IntoGoal(protocol=protocol, fee=fee)
