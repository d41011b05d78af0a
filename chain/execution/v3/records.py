"""The calls of v3's position manager as they read, and swaps in its pools through the router."""

from typing import Any, ClassVar

from chain.contracts.networks import Address
from chain.execution.plan.reading import DecodingError, Function, fields_of, read, write
from chain.execution.plan.records import PlainCall, RouterCommand
from chain.protocols.reference import V3
from chain.protocols.v3.pool_key import DecodedV3Pool

EVERYTHING = 2**128 - 1
"""What is collected where all is: more cannot be owed."""
_ADDRESS, _HOP = 20, 43
"""Bytes of an address, and of a path through one pool: token, fee, token."""


class ManagerCall(PlainCall, frozen=True):
    protocol: ClassVar[str] = V3


class MintPosition(ManagerCall, frozen=True):
    token0: Address
    token1: Address
    fee: int
    tick_lower: int
    tick_upper: int
    amount0_desired: int
    amount1_desired: int
    amount0_min: int
    amount1_min: int
    recipient: Address
    deadline: int


class IncreaseLiquidity(ManagerCall, frozen=True):
    token_id: int
    amount0_desired: int
    amount1_desired: int
    amount0_min: int
    amount1_min: int
    deadline: int


class DecreaseLiquidity(ManagerCall, frozen=True):
    """Takes liquidity out of the range and leaves what it held with the manager."""

    token_id: int
    liquidity: int
    amount0_min: int
    amount1_min: int
    deadline: int


class Collect(ManagerCall, frozen=True):
    """Pays what is owed: fees, and what was taken out of the range."""

    token_id: int
    recipient: Address
    """The zero address is the manager itself."""
    amount0_max: int
    amount1_max: int


class BurnToken(ManagerCall, frozen=True):
    """Ends a position that holds nothing and is owed nothing."""

    token_id: int


class UnwrapWeth(ManagerCall, frozen=True):
    """Pays what the manager has of the wrapped coin out as the coin."""

    amount_min: int
    recipient: Address


class SweepToken(ManagerCall, frozen=True):
    """Pays out what the manager has of a token."""

    token: Address
    amount_min: int
    recipient: Address


class RefundCoin(ManagerCall, frozen=True):
    """Sends the coin that was sent along and not taken back to the sender."""


class DecodedV3Swap(RouterCommand, frozen=True):
    """A swap of one exact input in one pool."""

    protocol: ClassVar[str] = V3
    code: ClassVar[int] = 0x00

    recipient: Address
    amount_in: int
    amount_out_minimum: int
    token_in: Address
    fee: int
    token_out: Address
    payer_is_user: bool

    @property
    def pool(self) -> DecodedV3Pool:
        token0, token1 = sorted((self.token_in, self.token_out))
        return DecodedV3Pool(token0, token1, self.fee)

    @property
    def zero_for_one(self) -> bool:
        return self.token_in < self.token_out


def _of_struct(name: str, types: str, record: type[ManagerCall]) -> Function:
    """A call whose values are the fields of one struct."""

    def parse(values: tuple[Any, ...]) -> PlainCall:
        return record(*values[0])

    return Function(name, (f"({types})",), record, parse, lambda call: (fields_of(call),))


_CHANGE = "uint256,uint256,uint256,uint256,uint256,uint256"
FUNCTIONS = (
    _of_struct(
        "mint",
        "address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256",
        MintPosition,
    ),
    _of_struct("increaseLiquidity", _CHANGE, IncreaseLiquidity),
    _of_struct("decreaseLiquidity", "uint256,uint128,uint256,uint256,uint256", DecreaseLiquidity),
    _of_struct("collect", "uint256,address,uint128,uint128", Collect),
    Function("burn", ("uint256",), BurnToken),
    Function("unwrapWETH9", ("uint256", "address"), UnwrapWeth),
    Function("sweepToken", ("address", "uint256", "address"), SweepToken),
    Function("refundETH", (), RefundCoin),
)

_SWAP = ("address", "uint256", "uint256", "bytes", "bool")


def read_swap(data: bytes) -> DecodedV3Swap:
    recipient, amount_in, least, path, payer_is_user = read(_SWAP, data)
    if len(path) != _HOP:
        raise DecodingError("A swap of v3 goes through one pool.")
    token_in, token_out = ("0x" + each.hex() for each in (path[:_ADDRESS], path[-_ADDRESS:]))
    fee = int.from_bytes(path[_ADDRESS:-_ADDRESS], "big")
    return DecodedV3Swap(recipient, amount_in, least, token_in, fee, token_out, payer_is_user)


def write_swap(swap: DecodedV3Swap) -> bytes:
    path = bytes.fromhex(swap.token_in[2:]) + swap.fee.to_bytes(3, "big")
    path += bytes.fromhex(swap.token_out[2:])
    values = (swap.recipient, swap.amount_in, swap.amount_out_minimum, path, swap.payer_is_user)
    return write(_SWAP, values)
