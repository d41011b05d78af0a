"""A batch taken apart: each of its calls as a step that could have been sent alone."""

from collections.abc import Iterable

from msgspec.structs import replace

from chain.execution.decode.decoder import encode_call
from chain.execution.decode.records import (
    Batch,
    CancelAllOrders,
    CancelOrder,
    DecodedBurn,
    DecodedDecrease,
    DecodedIncrease,
    DecodedMint,
    DecodedPositionManagerCall,
    DecodedStep,
    Deposit,
    Execute,
    ModifyLiquidities,
    Multicall,
    Permit2Approval,
    PlainCall,
    TokenApproval,
    Unsubscribe,
    Withdraw,
)


def single_calls(steps: Iterable[DecodedStep]) -> tuple[DecodedStep, ...]:
    """The steps in their order, a batch's calls in its place."""
    return tuple(single for step in steps for single in _singles(step))


def _singles(step: DecodedStep) -> tuple[DecodedStep, ...]:
    if not isinstance(step.call, Batch):
        return (step,)
    return tuple(
        DecodedStep(
            replace(
                step.transaction,
                to=each.to,
                value=each.value,
                data=encode_call(each.call),
                step=_name(each.call),
            ),
            each.call,
        )
        for each in step.call.calls
    )


_NAMES: dict[type[PlainCall], str] = {
    Unsubscribe: "unsubscribe",
    Deposit: "wrap",
    Withdraw: "unwrap",
    CancelOrder: "cancel order",
    CancelAllOrders: "cancel all orders",
    Multicall: "multicall",
}


def _name(call: PlainCall) -> str:
    """What the step is called where it is sent alone."""
    match call:
        case TokenApproval() | Permit2Approval():
            given = "allow Permit2" if isinstance(call, TokenApproval) else "allow through Permit2"
            return given if call.amount else "revoke"
        case Execute(commands):
            enters = any(isinstance(each, DecodedPositionManagerCall) for each in commands)
            return "enter" if enters else "swap"
        case ModifyLiquidities():
            return _change_name(call)
        case _:
            return _NAMES[type(call)]


def _change_name(call: ModifyLiquidities) -> str:
    kinds = [type(action) for action in call.actions]
    if DecodedBurn in kinds:
        return "move" if DecodedMint in kinds else "exit"
    if DecodedMint in kinds:
        return "create"
    if DecodedIncrease in kinds:
        return "increase"
    taken = [action.liquidity for action in call.actions if isinstance(action, DecodedDecrease)]
    return "decrease" if any(taken) else "collect"
