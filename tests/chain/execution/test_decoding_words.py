"""What is said about a transaction comes from its bytes, and says whose each address is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from chain.contracts import abi
from chain.contracts import calldata as actions
from chain.contracts.addresses import checksummed
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import DYNAMIC_FEE, PoolKey
from chain.execution.build.builder import GAS_CEILINGS
from chain.execution.decode.decoder import decode
from chain.execution.decode.titles import name_title, step_title
from chain.execution.decode.words import describe, field_table, names_on
from chain.execution.transaction import UnsignedTransaction
from chain.tokens.token import Token
from tests.chain.execution.made_up_plans import NETWORK, ROUTER, made_up_plan

if TYPE_CHECKING:
    from chain.contracts.networks import Address

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
        (YOU, f"{checksummed(YOU)} (you)"),
        (STRANGER, f"{checksummed(STRANGER)} (not you)"),
        (MANAGER, f"{checksummed(MANAGER)} (the PositionManager)"),
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
        f"liquidity 77: pay at most 1 WETH and 2 USDC; its owner is {checksummed(YOU)} (you)."
    )
    assert lines[2].startswith("Settle WETH with you")


def test_hooks_hook_data_and_unknown_tokens_are_not_hidden() -> None:
    key = PoolKey(WETH, STRANGER, DYNAMIC_FEE, 60, HOOK)
    mint = actions.Mint(key, -60, 60, 1, 5, 6, YOU, b"\xab")
    (line, *_) = told(actions.modify_liquidities([mint], 2**200))
    assert f"hook {checksummed(HOOK)}" in line
    assert "dynamic fee" in line
    assert checksummed(STRANGER) in line
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
    assert lines[0] == f"Send 1 ETH along to {checksummed(ROUTER)} (the UniversalRouter)."
    assert lines[1] == (
        "Sell 1000 USDC in WETH/USDC (fee 0.05%, tick spacing 10) for at least "
        "0.000000000000000003 WETH."
    )
    assert lines[2] == "Pay what is owed in USDC from you."
    assert f"to {checksummed(MANAGER)} (the PositionManager)" in lines[3]
    assert lines[4].startswith("Move 1 WETH from you to")
    assert lines[6].endswith(f"to {checksummed(STRANGER)} (not you).")


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
        "unsubscribe": "dismiss the subscriber of #9",
    }


def test_no_step_is_called_exit_or_enter_where_its_bytes_cannot_be_read() -> None:
    assert title(b"", "exit") == "close"
    titles = " ".join(map(name_title, GAS_CEILINGS)).split()
    assert not {"exit", "enter", "allow"} & {*titles}
