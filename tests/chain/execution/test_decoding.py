"""Bytes decoded, and the words for them."""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from msgspec import Struct
from msgspec.structs import astuple, replace

import chain.execution
from chain.contracts import abi
from chain.contracts import calldata as actions
from chain.contracts.addresses import checksum
from chain.contracts.networks import NATIVE, Address
from chain.contracts.pool_key import DYNAMIC_FEE, DecodedPoolKey, PoolKey
from chain.execution.build.builder import GAS_CEILINGS
from chain.execution.decode.decoder import decode, decode_call, encode_call
from chain.execution.decode.titles import name_title, step_title
from chain.execution.decode.words import describe, field_table, names_on
from chain.execution.plan.reading import DecodingError
from chain.execution.plan.records import (
    Call,
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
from chain.execution.transaction import UnsignedTransaction
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
from chain.tokens.token import Token
from tests.chain.execution.made_up_plans import (
    NETWORK,
    ROUTER,
    MadeUpPlan,
    address,
    made_up_plan,
    positions_of,
)

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


WETH, USDC, HOOK, YOU, STRANGER = (f"0x{digit * 40}" for digit in "12345")
MANAGER, PERMIT2 = NETWORK.contracts.position_manager, NETWORK.contracts.permit2
DEADLINE = 1_768_180_500
TOKENS = {
    WETH: Token(WETH, "WETH", 18, verified=True, suspicious=False),
    USDC: Token(USDC, "USDC", 6, verified=True, suspicious=False),
    NATIVE: Token(NATIVE, "ETH", 18, verified=True, suspicious=False),
}
NAMES = names_on(NETWORK, YOU, TOKENS)
POOL = PoolKey(WETH, USDC, 500, 10, NATIVE)


def told(data: bytes, to: Address = MANAGER, value: int = 0) -> tuple[str, ...]:
    step = decode(UnsignedTransaction(1, YOU, to, value, data, 1, 1, 1, 0, "step"))
    return describe(step, NAMES)


def test_an_exit_says_what_is_received_and_where() -> None:
    burn = actions.Burn(28, 1_230_000_000_000_000_000, 456_000_000)
    for recipient, place in (
        (YOU, f"{checksum(YOU)} (you)"),
        (STRANGER, f"{checksum(STRANGER)} (not you)"),
        (MANAGER, f"{checksum(MANAGER)} (the PositionManager)"),
        (actions.TO_SENDER, "the sender (you)"),
        (actions.TO_CONTRACT, "the contract itself"),
    ):
        take = actions.TakePair(WETH, USDC, recipient)
        assert told(actions.modify_liquidities([burn, take], DEADLINE)) == (
            f"Burn position #28: receive at least 1.23 WETH and 456 USDC besides fees at {place}.",
            f"Send all WETH and USDC that comes out to {place}.",
            "Refused by the chain after 2026-01-12 01:15:00 UTC.",
        )


def test_a_move_says_what_is_opened() -> None:
    lines = told(
        actions.modify_liquidities(
            [
                actions.Burn(28, 10**18, 10**6),
                actions.Mint(POOL, -600, 600, 77, 10**18, 2 * 10**6, YOU),
                actions.CloseCurrency(WETH),
                actions.CloseCurrency(USDC),
            ],
            DEADLINE,
        )
    )
    assert lines[0] == "Burn position #28: receive at least 1 WETH and 1 USDC besides fees."
    assert lines[1] == (
        "Open a position in WETH/USDC (fee 0.05%, tick spacing 10) from tick -600 to 600 with "
        f"liquidity 77: pay at most 1 WETH and 2 USDC; its owner is {checksum(YOU)} (you)."
    )
    assert lines[2].startswith("Settle WETH with you")


def test_hooks_hook_data_and_unknown_tokens_are_not_hidden() -> None:
    key = PoolKey(WETH, STRANGER, DYNAMIC_FEE, 60, HOOK)
    mint = actions.Mint(key, -60, 60, 1, 5, 6, YOU, b"\xab")
    (line, *_) = told(actions.modify_liquidities([mint], 2**200))
    assert f"hook {checksum(HOOK)}" in line
    assert "dynamic fee" in line
    assert checksum(STRANGER) in line
    assert "6 raw units" in line
    assert "It hands the hook 0xab." in line
    assert told(actions.modify_liquidities([mint], 2**200))[-1].endswith(f"second {2**200}.")


def test_a_swap_and_enter_is_told_step_by_step() -> None:
    swap = actions.SwapExactIn(POOL, zero_for_one=False, amount_in=10**9, amount_out_minimum=3)
    enter = actions.modify_liquidities(
        [actions.Mint(POOL, -600, 600, 1, 1, 1, YOU), actions.Sweep(USDC, STRANGER)], DEADLINE
    )
    lines = told(
        actions.execute(
            (
                actions.swap_exact_in(swap, recipient=MANAGER),
                actions.Permit2Transfer(WETH, MANAGER, 10**18),
                actions.PositionManagerCall(enter),
            ),
            DEADLINE,
        ),
        ROUTER,
        10**18,
    )
    assert lines[0] == f"Send 1 ETH along to {checksum(ROUTER)} (the UniversalRouter)."
    assert lines[1] == (
        "Sell 1000 USDC in WETH/USDC (fee 0.05%, tick spacing 10) for at least "
        "0.000000000000000003 WETH."
    )
    assert lines[2] == "Pay what is owed in USDC from you."
    assert f"to {checksum(MANAGER)} (the PositionManager)" in lines[3]
    assert lines[4].startswith("Move 1 WETH from you to")
    assert lines[6].endswith(f"to {checksum(STRANGER)} (not you).")


@pytest.mark.parametrize(
    ("data", "to", "value", "line"),
    [
        (actions.approve_token(PERMIT2, 10**6), USDC, 0, "to move at most 1 USDC."),
        (actions.approve_token(STRANGER, 10**6), USDC, 0, "(not you) to move at most 1 USDC."),
        (actions.approve_token(PERMIT2, 0), USDC, 0, "(Permit2) to move no more USDC."),
        (
            actions.approve_through_permit2(WETH, MANAGER, 10**18, DEADLINE),
            PERMIT2,
            0,
            "to move at most 1 WETH until 2026-01-12 01:15:00 UTC.",
        ),
        (abi.encode_call("unsubscribe(uint256)", 9), MANAGER, 0, "subscriber of position #9."),
        (abi.encode_call("deposit()"), WETH, 10**18, "Wrap 1 ETH into WETH."),
        (abi.encode_call("withdraw(uint256)", 10**18), WETH, 0, "Unwrap 1 WETH."),
    ],
)
def test_small_calls_are_one_sentence(data: bytes, to: Address, value: int, line: str) -> None:
    (said,) = told(data, to, value)
    assert said.endswith(line)


def test_every_plan_has_words_without_control_characters() -> None:
    for seed in range(200):
        plan = made_up_plan(seed)
        names = names_on(NETWORK, plan.facts.sender, {})
        for transaction in plan.built.transactions:
            lines = describe(decode(transaction), names)
            assert lines
            assert all(line.isprintable() and line.endswith(".") for line in lines)


def test_the_table_shows_every_field_of_the_envelope() -> None:
    transaction = made_up_plan(3).built.transactions[-1]
    table = field_table(decode(transaction))
    assert len({field.name for field in table}) == len(table)
    for name, value in (
        ("to", STRANGER), ("value", 77), ("gas", 1), ("nonce", 2**40), ("chain_id", 5),
        ("sender", STRANGER), ("max_fee_per_gas", 9), ("max_priority_fee_per_gas", 8),
        ("step", "other"),
    ):  # fmt: skip
        changed = replace(transaction, **{name: value})
        assert field_table(decode(changed)) != table


def title(data: bytes, name: str) -> str:
    return step_title(UnsignedTransaction(1, YOU, MANAGER, 0, data, 1, 1, 1, 0, name))


def test_a_step_is_called_what_a_person_calls_it() -> None:
    take = actions.TakePair(WETH, USDC, YOU)
    mint = actions.Mint(POOL, -600, 600, 1, 1, 1, YOU)
    swap = actions.SwapExactIn(POOL, zero_for_one=False, amount_in=10**9, amount_out_minimum=3)
    both = (
        actions.swap_exact_in(swap, recipient=MANAGER),
        actions.PositionManagerCall(actions.modify_liquidities([mint], DEADLINE)),
    )
    calls = {
        "exit": actions.modify_liquidities([actions.Burn(28, 1, 1), take], DEADLINE),
        "enter": actions.execute(both, DEADLINE),
        "move": actions.modify_liquidities([actions.Burn(28, 1, 1), mint], DEADLINE),
        "close all": actions.modify_liquidities(
            [actions.Burn(28, 1, 1), take, actions.Burn(29, 1, 1), take], DEADLINE
        ),
        "allow Permit2": actions.approve_token(PERMIT2, 5),
        "allow through Permit2": actions.approve_through_permit2(WETH, MANAGER, 5, DEADLINE),
        "revoke": actions.approve_token(PERMIT2, 0),
        "unsubscribe": abi.encode_call("unsubscribe(uint256)", 9),
    }

    assert {name: title(data, name) for name, data in calls.items()} == {
        "exit": "close #28",
        "enter": "sell, open",
        "move": "close #28, open",
        "close all": "close #28, #29",
        "allow Permit2": "let Permit2 move tokens",
        "allow through Permit2": "let Uniswap move tokens",
        "revoke": "take back an allowance",
        "unsubscribe": "unsubscribe #9",
    }


def test_no_step_is_called_exit_or_enter_where_its_bytes_cannot_be_read() -> None:
    assert title(b"", "exit") == "close"
    titles = " ".join(map(name_title, GAS_CEILINGS)).split()
    assert not {"exit", "enter", "allow"} & {*titles}
