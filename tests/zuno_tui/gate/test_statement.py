"""What is stated of a plan, sealed, and held to its time and its parties."""

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.networks import NATIVE, network_named
from chain.execution.decode.parties import Parties
from chain.execution.plan.facts import ChainFacts, FeeCaps, SpenderAllowance, TokenAllowances
from chain.execution.plan.requests import QuotedSwap
from chain.execution.simulate import Simulation, StepOutcome
from chain.positions.overview import Sources
from chain.protocols.reference import v4_position
from chain.rpc.client import AHEAD_SECONDS, RpcClient
from chain.rpc.records import Block
from chain.tokens import Token
from tests.agents.monitor.made_up_positions import block, position
from tests.zuno_tui.gate.test_drift import BEFORE
from zuno_tui.gate.actions.action import ActionTarget
from zuno_tui.gate.approvals import safe_states, simulation_digest
from zuno_tui.gate.basis import WHOLE_TRIAL, Basis, Gas, statement
from zuno_tui.gate.contract_code import CodeHashes
from zuno_tui.gate.drift import OtherPosition, earliest_time
from zuno_tui.gate.judgment import refuse_strangers
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

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


NOTHING = "nothing happened"
GIVEN = "permissions given, no position changed"
EXITED = "closed, both tokens in the wallet"


@pytest.mark.parametrize(
    ("names", "states"),
    [
        ([], ()),
        (["collect"], (NOTHING,)),
        (["allow Permit2", "allow the router", "enter"], (NOTHING, GIVEN, GIVEN)),
        (
            ["allow Permit2", "unsubscribe", "exit", "enter"],
            (NOTHING, GIVEN, "unsubscribed, the position is as it was", EXITED),
        ),
        (["exit", "wrap", "enter"], (NOTHING, EXITED, EXITED)),
        (["wrap", "enter"], (NOTHING, "wrapped, no position opened")),
        (["revoke", "revoke"], (NOTHING, "some permissions taken back, others still there")),
    ],
)
def test_each_step_has_a_named_state_before_it(names: list[str], states: tuple[str, ...]) -> None:
    assert safe_states(names) == states


def test_a_trial_with_another_outcome_has_another_hash() -> None:
    step = StepOutcome("exit", True, 100_000, {"0xaa": 5, "0xbb": -7}, None)
    tried = Simulation("eth_simulateV1", (step,), ())
    others = [
        replace(tried, method="eth_call"),
        replace(tried, unsimulated=("enter",)),
        replace(tried, steps=(replace(step, step="enter"),)),
        replace(tried, steps=(replace(step, gas_used=100_001),)),
        replace(tried, steps=(replace(step, changes={"0xaa": 5, "0xbb": -8}),)),
        replace(tried, steps=(step, step)),
    ]
    turned = replace(tried, steps=(replace(step, changes={"0xbb": -7, "0xaa": 5}),))

    assert simulation_digest(turned) == simulation_digest(tried)
    assert len({simulation_digest(one) for one in (tried, *others)}) == 1 + len(others)


NETWORK = network_named("base")
MANAGER = NETWORK.contracts.position_manager
WALLET, STRANGER = "0x" + "aa" * 20, "0x" + "66" * 20


def parties(recipients: tuple[str, ...], between: tuple[str, ...]) -> Parties:
    return Parties(WALLET, recipients, between, (), (), (), ())


@pytest.mark.parametrize(
    ("recipients", "between"),
    [((), ()), ((WALLET,), ()), ((WALLET,), (MANAGER,)), ((), (MANAGER, MANAGER))],
)
def test_what_stays_with_the_wallet_is_let_through(
    recipients: tuple[str, ...], between: tuple[str, ...]
) -> None:
    refuse_strangers(NETWORK, parties(recipients, between))


@pytest.mark.parametrize(
    ("recipients", "between"),
    [
        ((STRANGER,), ()),
        ((WALLET, STRANGER), (MANAGER,)),
        ((WALLET,), (STRANGER,)),
        ((WALLET,), (MANAGER, STRANGER)),
        ((WALLET,), (WALLET,)),
        ((MANAGER,), ()),
    ],
)
def test_whatever_goes_elsewhere_is_refused(
    recipients: tuple[str, ...], between: tuple[str, ...]
) -> None:
    with pytest.raises(GateRefusedError) as refused:
        refuse_strangers(NETWORK, parties(recipients, between))

    assert refused.value.code is RefusalCode.FOREIGN_RECIPIENT


NOW = 1_700_000_000
BLOCK = Block(7, "0x" + "aa" * 32, "0x" + "bb" * 32, NOW, 10**9, 0, 30_000_000)


def _sources(network: str) -> Sources:
    chosen = network_named(network)
    client = RpcClient(chosen, ("http://127.0.0.1:9",))
    return Sources(client, chosen, Store.in_memory(), None, lambda: float(NOW))


@pytest.mark.parametrize(
    ("block_time", "earliest"),
    [(NOW - 40, NOW - 40), (NOW, NOW), (NOW + 12, NOW), (NOW + int(AHEAD_SECONDS), NOW)],
)
def test_deadlines_start_from_the_earlier_of_both(block_time: int, earliest: int) -> None:
    assert earliest_time(_sources("base"), replace(BLOCK, timestamp=block_time)) == earliest


@pytest.mark.parametrize("ahead", [AHEAD_SECONDS + 1, 3600, 10 * 365 * 86_400])
def test_a_block_from_the_future_is_refused(ahead: float) -> None:
    with pytest.raises(GateRefusedError) as refused:
        earliest_time(_sources("base"), replace(BLOCK, timestamp=NOW + int(ahead)))

    assert refused.value.code is RefusalCode.FUTURE_HEAD


def test_a_network_with_a_clock_of_its_own_has_no_future() -> None:
    later = replace(BLOCK, timestamp=NOW + 10**6)

    assert earliest_time(_sources("devnet"), later) == NOW + 10**6
