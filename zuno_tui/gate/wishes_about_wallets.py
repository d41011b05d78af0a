"""What a person wants of the wallet itself: its coin wrapped or unwrapped, its leave taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.execution.building_requests import Allowance, Revoke, Unwrap, Wrap
from chain.networks import NATIVE
from chain.tokens.token import amount_text
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.subjects import read_wallet
from zuno_tui.gate.wishes import Wish
from zuno_tui.gate.worth import read_worth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.overview import Sources
    from zuno_tui.gate.allowances import Given
    from zuno_tui.phrases.amounts import Numeral

COIN_DECIMALS = 18
_PLENTY = 2**128


async def wish_to_wrap(sources: Sources, amount: Numeral) -> Wish:
    return await _wish_to_turn(sources, amount, "wrap")


async def wish_to_unwrap(sources: Sources, amount: Numeral) -> Wish:
    return await _wish_to_turn(sources, amount, "unwrap")


async def wish_to_revoke(sources: Sources, given: Sequence[Given]) -> Wish:
    if not given:
        raise GateRefusedError("Nothing is allowed that could be taken back. See: zuno revoke")
    subject = await read_wallet(sources)
    tokens = tuple(dict.fromkeys(one.token for one in given))
    worth = await read_worth(sources, tokens, subject.block)
    allowances = tuple(Allowance(one.token, one.spender, one.through_permit2) for one in given)
    told = "an allowance" if len(given) == 1 else f"{len(given)} allowances"
    return Wish(
        f"revoke_{subject.block.number}",
        f"Take {told} back",
        Revoke(allowances),
        subject,
        tokens,
        usd_per_wei=worth.usd_per_wei,
    )


async def _wish_to_turn(sources: Sources, amount: Numeral, verb: str) -> Wish:
    wrapped = sources.network.wrapped_native
    if wrapped is None:
        raise GateRefusedError(f"No wrapped coin is known on {sources.network.title}.")
    units = amount.scaled(COIN_DECIMALS)
    if units is None or not 0 < units < _PLENTY:
        raise GateRefusedError(f"{amount.text} is no amount that can be {verb}ped.")
    subject = await read_wallet(sources)
    tokens = (NATIVE, wrapped)
    worth = await read_worth(sources, tokens, subject.block)
    token = worth.tokens[NATIVE if verb == "wrap" else wrapped]
    return Wish(
        f"{verb}_{subject.block.number}",
        f"{verb.capitalize()} {amount_text(units, token)}",
        Wrap(units) if verb == "wrap" else Unwrap(units),
        subject,
        tokens,
        usd_per_wei=worth.usd_per_wei,
    )
