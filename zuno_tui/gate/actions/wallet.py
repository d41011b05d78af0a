"""What a person wants of the wallet itself: its coin wrapped or unwrapped, its leave taken back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chain.contracts.networks import NATIVE
from chain.execution.build.requests import Allowance, RevokeRequest, UnwrapRequest, WrapRequest
from chain.tokens.token import amount_text
from zuno_tui.gate.actions.action import Action
from zuno_tui.gate.actions.target import read_wallet
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.worth import read_worth

if TYPE_CHECKING:
    from chain.base.units import Numeral
    from chain.positions.overview import Sources
    from zuno_tui.gate.allowances import GivenAllowance

COIN_DECIMALS = 18
_PLENTY = 2**128


async def action_to_wrap(sources: Sources, amount: Numeral) -> Action:
    return await _action_to_turn(sources, amount, "wrap")


async def action_to_unwrap(sources: Sources, amount: Numeral) -> Action:
    return await _action_to_turn(sources, amount, "unwrap")


async def action_to_revoke(sources: Sources, given: Sequence[GivenAllowance]) -> Action:
    if not given:
        raise GateRefusedError("Nothing is allowed that could be taken back. See: zuno revoke")
    subject = await read_wallet(sources)
    tokens = tuple(dict.fromkeys(one.token for one in given))
    worth = await read_worth(sources, tokens, subject.block)
    allowances = tuple(Allowance(one.token, one.spender, one.through_permit2) for one in given)
    told = "an allowance" if len(given) == 1 else f"{len(given)} allowances"
    return Action(
        f"revoke_{subject.block.number}",
        f"Take {told} back",
        RevokeRequest(allowances),
        subject,
        tokens,
        usd_per_wei=worth.usd_per_wei,
        disputes=worth.disputes,
    )


async def _action_to_turn(sources: Sources, amount: Numeral, verb: str) -> Action:
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
    return Action(
        f"{verb}_{subject.block.number}",
        f"{verb.capitalize()} {amount_text(units, token)}",
        WrapRequest(units) if verb == "wrap" else UnwrapRequest(units),
        subject,
        tokens,
        usd_per_wei=worth.usd_per_wei,
        disputes=worth.disputes,
    )
