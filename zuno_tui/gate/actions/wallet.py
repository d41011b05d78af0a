"""What a person wants of the wallet itself: its coin wrapped or unwrapped, its leave taken back."""

from collections.abc import Sequence

from chain.base.units import Numeral
from chain.contracts.addresses import checksum
from chain.contracts.delegation import (
    NOBODY,
    NONCES,
    Delegate,
    delegate_in,
    delegate_named,
    delegates_on,
)
from chain.contracts.networks import NATIVE, Address
from chain.contracts.signed_delegation import ask_nonce
from chain.execution.chain_facts import read_lender
from chain.execution.plan.requests import (
    Allowance,
    DelegateRequest,
    RevokeRequest,
    UnwrapRequest,
    WrapRequest,
)
from chain.positions.overview import Sources
from chain.rpc import requests
from chain.tokens.token import amount_text
from zuno_tui.gate.actions.action import Action, read_wallet
from zuno_tui.gate.allowances import GivenAllowance
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.worth import read_worth

COIN_DECIMALS = 18
_PLENTY = 2**128


async def action_to_wrap(sources: Sources, amount: Numeral) -> Action:
    return await _action_to_turn(sources, amount, "wrap")


async def action_to_unwrap(sources: Sources, amount: Numeral) -> Action:
    return await _action_to_turn(sources, amount, "unwrap")


async def action_to_revoke(sources: Sources, given: Sequence[GivenAllowance]) -> Action:
    if not given:
        raise GateRefusedError("There is no permission to take back. See: zuno revoke")
    subject = await read_wallet(sources)
    tokens = tuple(dict.fromkeys(allowance.token for allowance in given))
    worth = await read_worth(sources, tokens, subject.block)
    allowances = tuple(
        Allowance(allowance.token, allowance.spender, allowance.through_permit2)
        for allowance in given
    )
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


_PREPARING = "Prepare the account for orders and one-transaction plans"
_PREPARING_PLANS = "Prepare the account for one-transaction plans"
_TAKING_PLANS_BACK = "Send plans as several transactions again"
_TAKING_BACK = "End orders, and send plans as several transactions again"
_TAKING_FOREIGN_BACK = "Take away the code that runs as this account"


async def action_to_delegate(
    sources: Sources,
    wallet: Address,
    *,
    back: bool,
    orders_stand: bool = False,
    by_device: bool = False,
    lender: Address | None = None,
) -> Action:
    """Lend the account to code that carries out batches, or take it back.

    A device delegates only to the simple one, which no order can rest on. The account is the
    lender's where one is named: its key signs that, and the wallet sends it and pays.
    """
    network = sources.network
    chosen = next((each for each in delegates_on(network) if each.orders is not by_device), None)
    if chosen is None:
        raise GateRefusedError(f"zuno knows no batch-transaction code on {network.title}.")
    subject = await read_wallet(sources)
    lent = None if lender is None else await read_lender(sources.client, lender, subject.block.hash)
    account = wallet if lender is None else lender
    code = await sources.client.ask(requests.code(account, subject.block.hash))
    now = delegate_in(code)
    if back and now is None:
        raise GateRefusedError("This account is not delegated: there is nothing to undo.")
    if not back and code:
        if delegate_named(network, now) is not None:
            raise GateRefusedError(
                "Plans go as one transaction already. To undo it: zuno wallet undelegate"
            )
        raise GateRefusedError(
            "This is a contract wallet: it has code of its own, and sends several transactions."
            if now is None
            else "This account runs other code already, which zuno leaves alone. To take it back: "
            "zuno wallet undelegate"
        )
    worth = await read_worth(sources, (NATIVE,), subject.block)
    verb = "undelegate" if back else "delegate"
    ours = delegate_named(network, now)
    cancels = orders_stand or (ours is not None and ours.orders)
    if back and not cancels:
        # Whoever raised it has signed orders before, here or elsewhere.
        raised = await sources.client.ask(requests.call(NONCES, ask_nonce(account)))
        cancels = bool(int.from_bytes(raised, "big"))
    if cancels and lent is not None and back:
        raise GateRefusedError(
            "Orders were signed for this account, and only its own transaction ends them. "
            "Nothing was prepared. As that wallet: zuno "
            f"--address {checksum(account)} wallet undelegate"
        )
    foreign = f"{_TAKING_FOREIGN_BACK}{', and end orders' if cancels else ''}"
    title = _title_of(chosen, ours, foreign, back=back, cancels=cancels)
    return Action(
        f"{verb}_{subject.block.number}",
        title if lender is None else f"{title}, for {checksum(lender)}",
        DelegateRequest(NOBODY if back else chosen.address, back and cancels, lent),
        subject,
        (),
        usd_per_wei=worth.usd_per_wei,
        disputes=worth.disputes,
    )


def _title_of(
    chosen: Delegate, ours: Delegate | None, foreign: str, *, back: bool, cancels: bool
) -> str:
    if not back:
        return _PREPARING if chosen.orders else _PREPARING_PLANS
    if ours is None:
        return foreign
    return _TAKING_BACK if ours.orders or cancels else _TAKING_PLANS_BACK


async def _action_to_turn(sources: Sources, amount: Numeral, verb: str) -> Action:
    wrapped = sources.network.wrapped_native
    if wrapped is None:
        raise GateRefusedError(f"No wrapped coin is known on {sources.network.title}.")
    units = amount.scale(COIN_DECIMALS)
    if units is None or not 0 < units < _PLENTY:
        raise GateRefusedError(f"{amount.text} is not an amount that can be {verb}ped.")
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
        worth.usd_per_unit,
        usd_per_wei=worth.usd_per_wei,
        disputes=worth.disputes,
    )
