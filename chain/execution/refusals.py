"""Why a contract refused, as far as its own bytes tell, and what a person can do about it.

Each is a clause that goes on from "it fails:"; nothing a contract says in its own words is shown
unquoted.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from chain.base.clean_text import quoted
from chain.contracts.abi import AbiError, decode, selector
from chain.contracts.checksum import shortened
from chain.rpc.server_errors import revert_reason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Telling = Callable[[tuple[Any, ...], int], str]

_SELECTOR = 4
_DEEPEST = 3
"""An error may be wrapped in an error; further down nobody looks."""


def refusal_words(data: bytes, depth: int = 0) -> str:
    said = quoted(revert_reason(data))
    if said:
        return f"the contract says: {said}"
    if not data:
        return "the contract refuses"
    known = _known_errors().get(data[:_SELECTOR])
    if known is not None and depth < _DEEPEST:
        types, tell = known
        if isinstance(tell, str):
            return tell
        try:
            return tell(decode(types, data[_SELECTOR:]), depth)
        except AbiError:
            pass
    return f"the contract refuses with error 0x{data[:_SELECTOR].hex()}"


@cache
def _known_errors() -> Mapping[bytes, tuple[tuple[str, ...], Telling | str]]:
    """By selector: what an error carries, and how it is told."""
    amounts = ("uint128", "uint128")
    errors: dict[tuple[str, tuple[str, ...]], Telling | str] = {
        **_SENTENCES,
        ("WrappedError", ("address", "bytes4", "bytes", "bytes")): _wrapped,
        ("ExecutionFailed", ("uint256", "bytes")): _inner,
        ("MinimumAmountInsufficient", amounts): _too_little_paid,
        ("MaximumAmountExceeded", amounts): _too_much_taken,
        ("V4TooLittleReceived", ("uint256", "uint256")): _swap_pays_too_little,
    }
    return {
        selector(f"{name}({','.join(types)})"): (types, tell)
        for (name, types), tell in errors.items()
    }


_ONE_ADDRESS, _ONE_NUMBER = ("address",), ("uint256",)
_LATE = "its deadline has passed; approve it again"
_NOT_ALLOWED = (
    "it needs more of a token than Permit2 lets it move, as when a hook keeps a part of what comes "
    "out; approve it again"
)
_TOO_LITTLE_THERE = (
    "less of a token is there than it needs, as with one that keeps a part of every transfer"
)
_SENTENCES: Mapping[tuple[str, tuple[str, ...]], str] = {
    ("CurrencyNotSettled", ()): (
        "less of a token arrives than is sent: it keeps a part of every transfer, "
        "and no pool can be entered with it"
    ),
    ("SafeCastOverflow", ()): (
        "the pool's hook asks for more than the position pays out; "
        "see what it may do: zuno inspect ID"
    ),
    ("InsufficientToken", ()): _TOO_LITTLE_THERE,
    ("InsufficientBalance", ()): _TOO_LITTLE_THERE,
    ("BalanceTooLow", ()): _TOO_LITTLE_THERE,
    ("DeadlinePassed", _ONE_NUMBER): _LATE,
    ("TransactionDeadlinePassed", ()): _LATE,
    ("AllowanceExpired", _ONE_NUMBER): _NOT_ALLOWED,
    ("InsufficientAllowance", _ONE_NUMBER): _NOT_ALLOWED,
    ("NotApproved", _ONE_ADDRESS): "the wallet may not change this position; see who owns it",
    ("PoolNotInitialized", ()): "the pool does not exist; make a new plan",
}

_TOKEN_ERRORS = ("ERC20TransferFailed()", "NativeTransferFailed()")
_SUBSCRIBER_ERRORS = (
    "ModifyLiquidityNotificationReverted(address,bytes)",
    "BurnNotificationReverted(address,bytes)",
)


def _wrapped(values: tuple[Any, ...], _depth: int) -> str:
    """What another contract refused, told by who it is; a pool asks its hook most of all."""
    target, _, reason, details = values
    who, kind = shortened(target), details[:_SELECTOR]
    said = quoted(revert_reason(reason))
    saying = f" (it says: {said})" if said else ""
    if kind in map(selector, _TOKEN_ERRORS):
        return (
            f"the token {who} cannot be moved as asked{saying}; "
            "it may be paused, shut you out, or keep a part of every transfer"
        )
    if kind in map(selector, _SUBSCRIBER_ERRORS):
        return f"the position's subscriber {who} refuses it{saying}; dismiss it first"
    return (
        f"the pool's hook {who} refuses it{saying}; "
        "only whoever runs the hook can change that, so try again later"
    )


def _inner(values: tuple[Any, ...], depth: int) -> str:
    return refusal_words(values[1], depth + 1)


def _too_little_paid(values: tuple[Any, ...], _depth: int) -> str:
    return (
        f"it would pay {_less(values)} than the least that is asked for: the price has moved, "
        "or the pool's hook keeps a part; see what the hook may do: zuno inspect ID"
    )


def _too_much_taken(values: tuple[Any, ...], _depth: int) -> str:
    most, asked = values
    return (
        f"it would take {asked} units where at most {most} may be taken: the price has moved, "
        "or the pool's hook takes a part; approve it again"
    )


def _swap_pays_too_little(values: tuple[Any, ...], _depth: int) -> str:
    return (
        f"the swap would pay {_less(values)} than the least that is asked for: the price or the "
        "fee has moved, or a hook keeps a part; approve it again"
    )


def _less(values: tuple[Any, ...]) -> str:
    least, paid = values
    return f"{(1 - paid / least) * 100:.2f} % less" if least else "less"
