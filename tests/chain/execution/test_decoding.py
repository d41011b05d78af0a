"""The decoder reads exactly what was written, and refuses everything else."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from msgspec import Struct
from msgspec.structs import astuple, replace

import chain.execution
from chain.contracts import abi
from chain.contracts import calldata as actions
from chain.contracts.pool_key import DecodedPoolKey, PoolKey
from chain.execution.decode.decoder import decode, decode_call, encode_call
from chain.execution.decode.words import field_table
from chain.execution.plan.reading import DecodingError
from chain.execution.plan.records import (
    Deposit,
    Execute,
    Multicall,
    Permit2Approval,
    TokenApproval,
    Withdraw,
)
from chain.execution.plan.requests import (
    CreateRequest,
    ReRangeRequest,
    RevokeRequest,
    SwapRequest,
    UnwrapRequest,
    WrapRequest,
)
from chain.execution.v4.records import (
    DecodedBurn,
    DecodedMint,
    DecodedPositionManagerCall,
    DecodedSettle,
    DecodedSwapExactIn,
    DecodedTake,
    DecodedV4Swap,
    ModifyLiquidities,
    Unsubscribe,
)
from tests.chain.execution.made_up_plans import (
    MadeUpPlan,
    address,
    made_up_plan,
    positions_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from chain.execution.plan.records import Call
    from chain.execution.transaction import UnsignedTransaction

FEW, MANY = 400, 10_000
FLIPS, MANY_FLIPS = 500, 10_000


def agree(plan: MadeUpPlan) -> None:
    """What the bytes say is what was asked for, field by field."""
    request, bounds = plan.request, plan.built.bounds
    calls = [decode(each).call for each in plan.built.transactions]
    for call, transaction in zip(calls, plan.built.transactions, strict=True):
        assert encode_call(call) == transaction.data
    last = calls[-1]
    if isinstance(request, WrapRequest):
        assert (last, plan.built.transactions[-1].value) == (Deposit(), request.amount)
        return
    if isinstance(request, UnwrapRequest):
        assert last == Withdraw(request.amount)
        return
    if isinstance(request, RevokeRequest):
        for call, allowance in zip(calls, request.allowances, strict=True):
            assert isinstance(call, Permit2Approval if allowance.through_permit2 else TokenApproval)
            assert (call.spender, call.amount) == (allowance.spender, 0)
        return
    if isinstance(request, SwapRequest):
        quoted, sender = request.swap, plan.facts.sender
        sold, bought = quoted.pool.values[:2][:: 1 if quoted.zero_for_one else -1]
        assert isinstance(last, Execute)
        assert last.commands == (
            DecodedV4Swap(
                (
                    DecodedSwapExactIn(
                        DecodedPoolKey(*quoted.pool.values),
                        quoted.zero_for_one,
                        quoted.amount_in,
                        bounds[-1].bounds.bought,
                        b"",
                    ),
                    DecodedSettle(sold, 0, payer_is_user=True),
                    DecodedTake(bought, sender, 0),
                )
            ),
        )
        return
    told = [action for call in calls for action in actions_of(call)]
    if not isinstance(request, CreateRequest):
        changed = {action.token_id for action in told if hasattr(action, "token_id")}
        assert changed == {position.ref.token_id for position in positions_of(request)}
    if isinstance(request, CreateRequest | ReRangeRequest):
        (mint,) = [action for action in told if isinstance(action, DecodedMint)]
        pool = request.pool if isinstance(request, CreateRequest) else request.position.pool
        span, final = request.span, bounds[-1].bounds
        assert tuple(mint.pool) == pool.key.values
        assert (mint.tick_lower, mint.tick_upper) == (span.tick_lower, span.tick_upper)
        assert (mint.liquidity, mint.amount0_max, mint.amount1_max) == (
            final.liquidity,
            *final.taken,
        )
        assert mint.owner == plan.facts.sender
    burns = [action for action in told if isinstance(action, DecodedBurn)]
    if burns and bounds[0].step == "exit" and not isinstance(request, CreateRequest):
        fees = positions_of(request)[0].fees
        least = (burns[0].amount0_min + fees.amount0, burns[0].amount1_min + fees.amount1)
        assert least == tuple(bounds[0].bounds.paid)


def actions_of(call: Call) -> tuple[object, ...]:
    if isinstance(call, ModifyLiquidities):
        return call.actions
    if isinstance(call, Execute):
        entering = [each for each in call.commands if isinstance(each, DecodedPositionManagerCall)]
        return tuple(action for each in entering for action in each.call.actions)
    return ()


def test_what_is_built_reads_back_equal() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(FEW):
        plan = made_up_plan(seed)
        agree(plan)
        kinds[type(plan.request).__name__] += 1
    assert len(kinds) == 11
    assert min(kinds.values()) > 5


@pytest.mark.soak
def test_ten_thousand_plans_read_back_equal() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(MANY):
        plan = made_up_plan(seed)
        agree(plan)
        kinds[type(plan.request).__name__] += 1
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    print(f"{kinds.total()} plans read back equal: {told}")  # noqa: T201 - what it is to show


def some_actions(draw: Random) -> list[actions.PositionAction]:
    """Any actions at all with any fields at all, sense or none."""

    def number(bits: int) -> int:
        return draw.choice((0, 1, (1 << bits) - 1, draw.getrandbits(bits)))

    def tick() -> int:
        return draw.randint(-(1 << 23), (1 << 23) - 1)

    def amounts() -> tuple[int, int]:
        return number(128), number(128)

    data = draw.randbytes(draw.choice((0, 0, 1, 31, 32, 33)))
    key = PoolKey(address(draw), address(draw), number(24), tick(), address(draw))
    made: list[Callable[[], actions.PositionAction]] = [
        lambda: actions.Increase(number(256), number(256), *amounts(), data),
        lambda: actions.Decrease(number(256), number(256), *amounts(), data),
        lambda: actions.Mint(key, tick(), tick(), number(256), *amounts(), address(draw), data),
        lambda: actions.Burn(number(256), *amounts(), data),
        lambda: actions.Settle(address(draw), number(256), draw.random() < 0.5),
        lambda: actions.SettlePair(address(draw), address(draw)),
        lambda: actions.Take(address(draw), address(draw), number(256)),
        lambda: actions.TakePair(address(draw), address(draw), address(draw)),
        lambda: actions.CloseCurrency(address(draw)),
        lambda: actions.Sweep(address(draw), address(draw)),
    ]
    return [draw.choice(made)() for _ in range(draw.randint(0, 6))]


def test_any_fields_of_any_action_read_back_equal() -> None:
    for seed in range(FEW):
        draw = Random(seed)
        written, deadline = some_actions(draw), draw.getrandbits(256)
        read = decode_call(actions.modify_liquidities(written, deadline))
        assert isinstance(read, ModifyLiquidities)
        assert read.deadline == deadline
        assert [flat(action) for action in read.actions] == [flat(action) for action in written]
        assert [action.code for action in read.actions] == [action.code for action in written]


def flat(value: object) -> list[object]:
    if isinstance(value, Struct):
        return flat(astuple(value))
    return [one for part in value for one in flat(part)] if isinstance(value, tuple) else [value]


def flip_bytes(first: int, count: int) -> Counter[str]:
    """Flips of single bytes: each is refused, or it shows in the table and in the digest."""
    outcomes: Counter[str] = Counter()
    for seed in range(first, first + count):
        draw = Random(seed)
        plan = made_up_plan(draw.randrange(2 * MANY))
        transaction = draw.choice(plan.built.transactions)
        place = draw.randrange(len(transaction.data))
        flipped = bytearray(transaction.data)
        flipped[place] ^= draw.randint(1, 255)
        changed = replace(transaction, data=bytes(flipped))
        outcomes[outcome_of(transaction, changed)] += 1
    return outcomes


def outcome_of(transaction: UnsignedTransaction, changed: UnsignedTransaction) -> str:
    try:
        shown = field_table(decode(changed))
    except DecodingError:
        return "refused"
    assert shown != field_table(decode(transaction))
    assert changed.digest != transaction.digest
    return "shown"


def test_no_flipped_byte_goes_unseen() -> None:
    outcomes = flip_bytes(0, FLIPS)
    assert outcomes["refused"] > FLIPS // 4
    assert outcomes["shown"] > FLIPS // 4


@pytest.mark.soak
def test_none_of_ten_thousand_flipped_bytes_goes_unseen() -> None:
    outcomes = flip_bytes(FLIPS, MANY_FLIPS)
    refused, shown = outcomes["refused"], outcomes["shown"]
    print(f"{outcomes.total()} flips: {refused} refused, {shown} shown")  # noqa: T201
    assert outcomes.total() == MANY_FLIPS


def a_call() -> bytes:
    burn = actions.Burn(28, 5, 6)
    return actions.modify_liquidities([burn, actions.CloseCurrency("0x" + "11" * 20)], 900)


def plan_call(codes: bytes, params: tuple[bytes, ...]) -> bytes:
    plan = abi.encode(("bytes", "bytes[]"), (codes, params))
    return abi.encode_call("modifyLiquidities(bytes,uint256)", plan, 900)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "No known call"),
        (b"\xdd\x46", "No known call"),
        (a_call() + b"\0", "no field accounts for"),
        (a_call() + b"\0" * 32, "no field accounts for"),
        (a_call()[:-32], "is not bytes"),
        (abi.encode_call("setApprovalForAll(address,bool)", "0x" + "11" * 20, True), "No known"),
        (
            abi.encode_call("transferFrom(address,address,uint256)", *["0x" + "11" * 20] * 2, 1),
            "No",
        ),
        (abi.encode_call("modifyLiquiditiesWithoutUnlock(bytes,bytes[])", b"", ()), "No known"),
        (plan_call(b"\x05", (b"",)), "0x05 is not known"),
        (plan_call(b"\x12", ()), "1 codes come with 0 inputs"),
        (plan_call(b"\x12", (b"\0" * 64,)), "no field accounts for"),
        (plan_call(b"\x12", (b"\xff" * 32,)), "is not address"),
        (abi.encode_call("deposit()") + b"\0", "no field accounts for"),
        (b"\0" * 40_000, "more than any known call"),
        (abi.encode_call("execute(bytes,bytes[],uint256)", b"\x90", (b"",), 1), "0x90"),
        (abi.encode_call("execute(bytes,bytes[],uint256)", b"\x0b", (b"",), 1), "0x0b"),
        (
            abi.encode_call(
                "execute(bytes,bytes[],uint256)",
                b"\x14",
                (abi.encode_call("unsubscribe(uint256)", 1),),
                1,
            ),
            "only modifyLiquidities",
        ),
        (
            abi.encode_call("multicall(bytes[])", (abi.encode_call("multicall(bytes[])", ()),)),
            "may hold only",
        ),
    ],
)
def test_what_is_not_exactly_a_known_call_is_refused(data: bytes, sentence: str) -> None:
    with pytest.raises(DecodingError, match=sentence):
        decode_call(data)


def test_random_bytes_behind_a_known_selector_are_refused_without_a_crash() -> None:
    draw = Random(1)
    selectors = [made_up_plan(seed).built.transactions[-1].data[:4] for seed in range(40)]
    unwrap = abi.encode_call("withdraw(uint256)", 0)[:4]
    for _ in range(FEW):
        data = draw.choice(selectors) + draw.randbytes(draw.randrange(1, 400))
        # Any 32 bytes are an amount to unwrap; nothing else is met by chance.
        if (data[:4], len(data)) == (unwrap, 36):
            assert decode_call(data) == Withdraw(int.from_bytes(data[4:], "big"))
            continue
        with pytest.raises(DecodingError):
            decode_call(data)


def test_a_multicall_reads_as_its_calls() -> None:
    inner = (abi.encode_call("unsubscribe(uint256)", 28), a_call())
    read = decode_call(abi.encode_call("multicall(bytes[])", inner))
    assert read == Multicall((Unsubscribe(28), decode_call(a_call())))  # type: ignore[arg-type]


def test_the_decoder_shares_nothing_with_the_encoder() -> None:
    folder = Path(chain.execution.__file__).parent
    reading = [folder / "decode" / "decoder.py", folder / "plan" / "reading.py"]
    reading += [folder / "plan" / "records.py", *folder.glob("v*/records.py")]
    for path in reading:
        names = [
            name
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.ImportFrom)
            for name in (node.module or "", *(f"{node.module}.{each.name}" for each in node.names))
        ]
        assert not {
            "chain.contracts.abi",
            "chain.contracts.calldata",
        } & set(names)
    script = (
        "import sys, chain.execution.decode.decoder as d; "
        "never = {'chain.contracts.calldata', 'eth_abi'}; "
        "never |= {name for name in sys.modules if name.endswith(('.recipes', '.writer'))}; "
        "assert not never & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(("codes", "inputs"), [(b"\x10\x10", (b"",)), (b"", (b"",)), (b"\x10", ())])
def test_the_router_is_given_as_many_inputs_as_commands(
    codes: bytes, inputs: tuple[bytes, ...]
) -> None:
    with pytest.raises(DecodingError, match=f"{len(codes)} codes come with {len(inputs)} inputs"):
        decode_call(abi.encode_call("execute(bytes,bytes[],uint256)", codes, [*inputs], 1))
