"""Calldata against eth_abi's encoder, which shares no line with ours."""

import eth_abi.abi as eth_abi
import pytest

from chain.contracts import calldata as actions
from chain.contracts.addresses import keccak
from chain.contracts.calldata import (
    OPEN_DELTA,
    TO_SENDER,
    Burn,
    CloseCurrency,
    Decrease,
    Increase,
    Mint,
    Permit2Transfer,
    PositionAction,
    PositionManagerCall,
    RouterCommand,
    Settle,
    SettlePair,
    SwapAction,
    SwapExactIn,
    Sweep,
    Take,
    TakePair,
    V4Swap,
    execute,
    modify_liquidities,
    swap_exact_in,
)
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolKey

A, B, C = ("0x" + digit * 40 for digit in "abc")
POOL = PoolKey(A, B, 3000, 60, NATIVE)
KEY = (A, B, 3000, 60, NATIVE)
KEY_TYPE = "(address,address,uint24,int24,address)"

POSITION_ACTIONS: list[tuple[PositionAction, int, list[str], list[object]]] = [
    (
        Mint(POOL, -120, 180, 10**18, 7, 9, C, b"\x01\x02"),
        0x02,
        [KEY_TYPE, "int24", "int24", "uint256", "uint128", "uint128", "address", "bytes"],
        [KEY, -120, 180, 10**18, 7, 9, C, b"\x01\x02"],
    ),
    (
        Increase(5, 10, 20, 30),
        0x00,
        ["uint256", "uint256", "uint128", "uint128", "bytes"],
        [5, 10, 20, 30, b""],
    ),
    (
        Decrease(5, 10, 20, 30, b"x"),
        0x01,
        ["uint256", "uint256", "uint128", "uint128", "bytes"],
        [5, 10, 20, 30, b"x"],
    ),
    (Burn(5, 1, 2), 0x03, ["uint256", "uint128", "uint128", "bytes"], [5, 1, 2, b""]),
    (
        Settle(A, OPEN_DELTA, payer_is_user=False),
        0x0B,
        ["address", "uint256", "bool"],
        [A, 0, False],
    ),
    (SettlePair(A, B), 0x0D, ["address", "address"], [A, B]),
    (Take(A, C, 5), 0x0E, ["address", "address", "uint256"], [A, C, 5]),
    (TakePair(A, B, C), 0x11, ["address", "address", "address"], [A, B, C]),
    (CloseCurrency(A), 0x12, ["address"], [A]),
    (Sweep(A, C), 0x14, ["address", "address"], [A, C]),
]


@pytest.mark.parametrize(("action", "code", "types", "values"), POSITION_ACTIONS)
def test_an_action_is_its_code_and_flat_parameters(
    action: PositionAction, code: int, types: list[str], values: list[object]
) -> None:
    assert action.code == code
    assert action.params == eth_abi.encode(types, values)


def test_positions_are_changed_by_one_call() -> None:
    deadline = 1_800_000_000
    plan = eth_abi.encode(
        ["bytes", "bytes[]"],
        [bytes(code for _, code, _, _ in POSITION_ACTIONS), _params(POSITION_ACTIONS)],
    )
    expected = keccak(b"modifyLiquidities(bytes,uint256)")[:4] + eth_abi.encode(
        ["bytes", "uint256"], [plan, deadline]
    )
    assert modify_liquidities([each[0] for each in POSITION_ACTIONS], deadline) == expected


def _params(cases: list[tuple[PositionAction, int, list[str], list[object]]]) -> list[bytes]:
    return [eth_abi.encode(types, values) for _, _, types, values in cases]


@pytest.mark.parametrize(("zero_for_one", "sold", "bought"), [(True, A, B), (False, B, A)])
def test_a_swap_settles_what_it_sells_and_takes_what_it_buys(
    zero_for_one: bool, sold: str, bought: str
) -> None:
    swap = SwapExactIn(POOL, zero_for_one, 1_000, 990)
    tuple_type = f"({KEY_TYPE},bool,uint128,uint128,bytes)"
    inputs = eth_abi.encode(
        ["bytes", "bytes[]"],
        [
            bytes([0x06, 0x0B, 0x0E]),
            [
                eth_abi.encode([tuple_type], [(KEY, zero_for_one, 1_000, 990, b"")]),
                eth_abi.encode(["address", "uint256", "bool"], [sold, 0, True]),
                eth_abi.encode(["address", "address", "uint256"], [bought, TO_SENDER, 0]),
            ],
        ],
    )
    expected = keccak(b"execute(bytes,bytes[],uint256)")[:4] + eth_abi.encode(
        ["bytes", "bytes[]", "uint256"], [b"\x10", [inputs], 77]
    )
    assert execute([swap_exact_in(swap)], 77) == expected


def test_router_commands_keep_their_order() -> None:
    swap: tuple[SwapAction, ...] = (SwapExactIn(POOL, True, 1, 0),)
    commands: list[RouterCommand] = [
        V4Swap(swap),
        Permit2Transfer(A, C, 5),
        PositionManagerCall(b"calldata"),
    ]
    codes, inputs, deadline = eth_abi.decode(
        ["bytes", "bytes[]", "uint256"], execute(commands, 9)[4:]
    )
    assert (codes, deadline) == (bytes([0x10, 0x02, 0x14]), 9)
    assert inputs[1] == eth_abi.encode(["address", "address", "uint160"], [A, C, 5])
    assert inputs[2] == b"calldata"


def test_approvals_and_initialisation() -> None:
    assert actions.approve_token(A, 5) == keccak(b"approve(address,uint256)")[:4] + eth_abi.encode(
        ["address", "uint256"], [A, 5]
    )
    assert actions.approve_through_permit2(A, B, 5, 6) == keccak(
        b"approve(address,address,uint160,uint48)"
    )[:4] + eth_abi.encode(["address", "address", "uint160", "uint48"], [A, B, 5, 6])
    signature = f"initializePool({KEY_TYPE},uint160)".encode()
    assert actions.initialize_pool(POOL, 2**96) == keccak(signature)[:4] + eth_abi.encode(
        [KEY_TYPE, "uint160"], [KEY, 2**96]
    )
