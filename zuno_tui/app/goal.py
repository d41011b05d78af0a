"""What a person wants to keep, as typed, for the tokens of a position."""

from agents.lp.facts import KeepGoal
from chain.contracts.networks import NATIVE
from chain.positions.overview import Sources
from chain.tokens.pair import Pair
from chain.tokens.token import Token
from zuno_tui.app.range import pair_of_position
from zuno_tui.prompt.dates import read_day
from zuno_tui.settings import SettingsError

LONG = "long"
"""Stands for the token whose price the pair tells."""


async def keep_goal_of(sources: Sources, token_id: int, words: tuple[str, str]) -> KeepGoal:
    pair, block = await pair_of_position(sources, token_id)
    named, day = words
    until = read_day(day, block.timestamp) if day else None
    if day and (until is None or until <= block.timestamp):
        raise SettingsError(f"{day!r} is no day to come. Like: --until 2027-03-01 or --until March")
    return KeepGoal(token=_token(sources, pair, named).address, until=until)


def _token(sources: Sources, pair: Pair, named: str) -> Token:
    if named.lower() == LONG:
        return pair.base
    ether = (NATIVE, sources.network.wrapped_native)
    for token in (pair.base, pair.quote):
        also = sources.network.native_symbol.lower() if token.address in ether else ""
        if named.lower() in (token.label.lower(), token.address.lower(), also):
            return token
    raise SettingsError(
        f"The position holds {pair.base.label} and {pair.quote.label}. Keep one of them: "
        f"--keep {pair.base.label}"
    )
