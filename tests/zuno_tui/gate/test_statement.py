"""Every fact that endpoints must agree on stands under a name of its own."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from chain.contracts.networks import NATIVE, network_named
from chain.execution.plan.facts import ChainFacts, FeeCaps, SpenderAllowance, TokenAllowances
from chain.execution.plan.requests import QuotedSwap
from chain.execution.simulate import Simulation, StepOutcome
from chain.protocols.reference import v4_position
from chain.tokens import Token
from tests.agents.monitor.made_up_positions import block, position
from tests.zuno_tui.gate.test_drift import BEFORE
from zuno_tui.gate.actions.action import ActionTarget
from zuno_tui.gate.basis import WHOLE_TRIAL, Basis, Gas, statement
from zuno_tui.gate.contract_code import CodeHashes
from zuno_tui.gate.drift import OtherPosition

ONE, TWO, SPENDER = "0x" + "11" * 20, "0x" + "22" * 20, "0x" + "33" * 20


def basis(
    *,
    with_position: bool = True,
    method: str = "eth_simulateV1",
    success: bool = True,
    pays: int | None = 77,
) -> Basis:
    step = StepOutcome("exit", success, 100_000, {TWO: 2, ONE: 1}, None, {ONE: 3})
    held = position(0) if with_position else None
    return Basis(
        subject=ActionTarget(block(100), None, held),
        circumstances=BEFORE,
        facts=ChainFacts(
            network_named("base"),
            SPENDER,
            0,
            0,
            FeeCaps(1, 1),
            balances={NATIVE: 5, ONE: 6, TWO: 7},
            allowances={
                ONE: TokenAllowances(8, {SPENDER: SpenderAllowance(9, 10)}),
                TWO: TokenAllowances(0, {}),
            },
        ),
        tokens={
            ONE: Token(ONE, "ONE", 18, verified=True, suspicious=False),
            TWO: Token(TWO, "TWO", 6, verified=True, suspicious=False),
        },
        codes=CodeHashes({ONE: "0xaa", TWO: "0xbb"}, {}, frozenset(), frozenset()),
        swap=None if pays is None else QuotedSwap(position(0).pool.key, True, 5, pays, 1),
        simulation=Simulation(method, (step,), ()),  # type: ignore[arg-type]
    )


def test_each_fact_has_its_name() -> None:
    told = statement(basis())

    assert told["block"] == block(100).hash
    assert told["time of the block"] == block(100).timestamp
    assert {name: told[name] for name in told if name.startswith("balance of")} == {
        "balance of ETH": 5,
        "balance of 0x1111…1111": 6,
        "balance of 0x2222…2222": 7,
    }
    assert told["allowance of 0x1111…1111"] == (8, ((SPENDER, 9, 10),), ())
    assert told["allowance of 0x2222…2222"] == (0, (), ())
    assert (told["decimals of 0x1111…1111"], told["decimals of 0x2222…2222"]) == (18, 6)
    assert (told["symbol of 0x1111…1111"], told["symbol of 0x2222…2222"]) == ("ONE", "TWO")
    assert (told[f"code of {ONE}"], told[f"code of {TWO}"]) == ("0xaa", "0xbb")
    assert told["range"] == (-1_000, 1_000)
    assert told["fees waiting"] == (0, 0)
    assert told["liquidity of the pool"] == 10**18
    assert (told["nonce"], told["quote"]) == (BEFORE.nonce, 77)
    assert told["trial of exit"] == "succeeds"
    assert told["changes by exit"] == ((ONE, 1), (TWO, 2))
    assert told["untold by exit"] == ((ONE, 3),)
    assert told["gas of exit"] == Gas(100_000)
    assert told[WHOLE_TRIAL] == 1


def test_of_several_positions_each_is_told_by_its_number() -> None:
    first = replace(position(0), fees0=3, fees1=4)
    second = replace(position(0, number=8), fees0=5, fees1=6)
    other = OtherPosition(v4_position(8), "0xowner", 9, "0xpool", None, None, 3 << 96, 500)
    told = statement(
        replace(
            basis(),
            subject=ActionTarget(block(100), None, first, (second,)),
            circumstances=replace(BEFORE, others=(other,)),
        )
    )

    assert (told["fees waiting"], told["fees waiting of #8"]) == ((3, 4), (5, 6))
    assert (told["owner of #8"], told["liquidity of #8"]) == ("0xowner", 9)
    assert told["range of #8"] == told["range"] == (-1_000, 1_000)
    assert "others" not in told


@pytest.mark.parametrize("name", ["range", "fees waiting", "liquidity of the pool"])
def test_without_a_position_none_is_told_of(name: str) -> None:
    assert name in statement(basis())
    assert name not in statement(basis(with_position=False))


def test_who_tries_the_first_step_alone_tells_of_that_alone() -> None:
    told = statement(basis(method="eth_call", success=False, pays=None))

    assert told["trial of exit"] == "fails"
    whole = {"changes by exit", "untold by exit", "gas of exit", WHOLE_TRIAL}
    assert not (whole | {"quote"}) & told.keys()
