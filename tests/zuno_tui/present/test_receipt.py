"""The receipt is read out of bytes: what is given, got and paid, in six digits and dollars."""

import re

import pytest
from msgspec.structs import replace

from chain.base.units import usd
from chain.contracts import calldata as actions
from chain.contracts.networks import all_networks, network_named, transaction_url
from chain.contracts.pool_key import PoolKey
from chain.execution.decode.decoder import decode
from chain.execution.decode.words import names_on
from chain.execution.plan.facts import PoolFacts, PositionFacts
from chain.execution.transaction import UnsignedTransaction
from chain.math.drift import Span
from chain.math.liquidity import Amounts
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.reference import v4_position
from chain.tokens.token import Token
from tests.chain.execution.made_up_plans import NETWORK
from zuno_tui.present.receipt import ReceiptFacts, TotalCost, receipt_of, step_brief
from zuno_tui.screen.links import can_link

WETH, USDC, YOU = (f"0x{digit * 40}" for digit in "124")
TOKENS = {
    WETH: Token(WETH, "WETH", 18, verified=True, suspicious=False),
    USDC: Token(USDC, "USDC", 6, verified=True, suspicious=False),
}
POOL = PoolKey(WETH, USDC, 500, 10, "0x" + "00" * 20)
AT = sqrt_price_at_tick(-196_000)
HASH = "0x" + "ab" * 32


SPAN = Span(-196_300, -195_500)
LIQUIDITY = 10**16
HELD = PositionFacts(
    v4_position(28), PoolFacts(POOL, AT, 500), SPAN, LIQUIDITY, Amounts(10**15, 10**6), None
)
NEW = Span(-196_600, -195_300)
WALLET = {WETH: -1_234_567_890_123_456_789, USDC: 43_902_417}
USD = {WETH: 3_000 / 10**18, USDC: 1 / 10**6}


def facts(data: bytes, *, priced: bool = True, tried: bool = True) -> ReceiptFacts:
    manager = NETWORK.contracts.position_manager
    step = decode(UnsignedTransaction(1, YOU, manager, 0, data, 1, 1, 1, 0, "enter"))
    return ReceiptFacts(
        network=NETWORK,
        names=names_on(NETWORK, YOU, TOKENS),
        steps=(step,),
        changes=WALLET if tried else None,
        gas=2_335_000_000_000_000,
        pool=PoolFacts(POOL, AT, 500),
        usd_per_unit=USD if priced else {},
        usd_per_wei=3_000 / 10**18 if priced else None,
        positions={HELD.ref: HELD},
        expected_gas=10**15 if tried else None,
    )


def dollars(amounts: Amounts) -> float:
    return amounts.amount0 * USD[WETH] + amounts.amount1 * USD[USDC]


MOVE = actions.modify_liquidities(
    [
        actions.Burn(28, 2_835_830_852_989_993_027, 0),
        actions.Mint(POOL, -196_600, -195_300, 10**15, 10**18, 2_000 * 10**6, YOU),
        actions.CloseCurrency(WETH),
        actions.CloseCurrency(USDC),
    ],
    1_768_180_500,
)


def most_taken() -> float:
    """By looking at every tick: the most worth that both bounds leave to be taken."""
    worths = []
    for tick in range(NEW.tick_lower, NEW.tick_upper + 1):
        taken = NEW.holds(sqrt_price_at_tick(tick), 10**15, round_up=True)
        if taken.amount0 <= 10**18 and taken.amount1 <= 2_000 * 10**6:
            worths.append(dollars(taken))
    return max(worths)


def bound_dollars(shown: str) -> float:
    return float(shown.removeprefix("≤ $").replace(",", ""))


def test_a_shown_total_is_the_sum_of_the_shown_parts() -> None:
    assert usd(2.574 + 2.444) == "$5.02"
    assert usd(TotalCost(2.574, 2.444).total) == "$5.01"
    assert usd(TotalCost(0.002, 0.003).total) == "<$0.01"
    assert TotalCost(None, 2.0).total is None


def test_a_move_says_what_is_expected_first_and_then_what_is_guaranteed() -> None:
    receipt = receipt_of(facts(MOVE))
    before = SPAN.holds(AT, LIQUIDITY, round_up=False)
    before = Amounts(before.amount0 + 10**15, before.amount1 + 10**6)
    after = NEW.holds(AT, 10**15, round_up=True)
    wallet = dollars(Amounts(WALLET[WETH], WALLET[USDC]))
    # A reader who takes one shown figure from the other comes to the cost that is shown.
    swap = round(dollars(before), 2) - round(dollars(after), 2) - round(wallet, 2)

    lines = {line.part: line for line in receipt.lines if line.part != "bound"}
    assert list(lines) == ["pool", "give", "get", "wallet", "swap", "network", "pay"]
    assert lines["pool"].words == "WETH/USDC 0.05% · no hook · #28 → new position"
    assert lines["give"].dollars == usd(dollars(before))
    assert lines["get"].dollars == usd(dollars(after))
    assert lines["wallet"].dollars == usd(wallet)
    assert receipt.swap_cost == pytest.approx(swap)
    assert receipt.network_cost == pytest.approx(3.0)
    assert lines["swap"].dollars == usd(swap)
    assert (lines["network"].words, lines["network"].dollars) == ("about 0.001 ETH", "$3.00")
    assert lines["pay"].words == "simulated just now"
    planned = receipt_of(replace(facts(MOVE), planned_cost=7.25)).lines
    assert "simulated just now; the plan estimated $7.25" in {line.words for line in planned}
    assert receipt.prices == "WETH $3,000.00"
    assert not receipt.halfway, "it is one transaction"
    assert lines["pay"].dollars == f"≈ {usd(round(swap, 2) + 3.0)}"
    bounds = [(line.words, line.dollars) for line in receipt.lines if line.part == "bound"]
    shown = bounds[1][1]
    # A bound may stop it between two ticks.
    told = bound_dollars(shown)
    assert most_taken() - 0.01 <= told <= most_taken() * 1.0002
    assert bounds == [
        ("#28 minimum, before fees 2.83583 WETH", "≥ $8,507.49"),
        ("the new position takes at most this; the rest comes to your wallet", shown),
        ("at most 0.002335 ETH", "≤ $7.00"),
        bounds[3],
    ]
    words, most = bounds[3]
    parts = re.fullmatch(r"price move \$([\d,.]+) \+ network \$7\.00", words)
    assert parts is not None
    assert bound_dollars(most) == pytest.approx(float(parts[1].replace(",", "")) + 7.0)
    assert receipt.range is not None
    assert 0 < receipt.range.progress < 1
    low, high = (float(edge.replace(",", "")) for edge in (receipt.range.low, receipt.range.high))
    assert low < float(receipt.range.price.replace(",", "")) < high
    assert step_brief(facts(MOVE).steps[0], facts(MOVE)) == (
        f"close #28, open {receipt.range.low} – {receipt.range.high}"
    )


SWAP = actions.swap_exact_in(actions.SwapExactIn(POOL, True, 10**18, 2_900 * 10**6))
OPEN = actions.PositionManagerCall(
    actions.modify_liquidities(
        [actions.Mint(POOL, -196_600, -195_300, 10**15, 10**18, 2_000 * 10**6, YOU)], 1_768_180_500
    )
)


def test_a_swap_alone_is_given_and_got_and_one_on_the_way_is_guaranteed_beside_the_move() -> None:
    def parts(*commands: actions.RouterCommand) -> list[tuple[str, str]]:
        receipt = receipt_of(facts(actions.execute(commands, 1_768_180_500)))
        return [(line.part, line.dollars) for line in receipt.lines]

    assert parts(SWAP)[:3] == [("give", "$3,000.00"), ("get", "$43.90"), ("wallet", "−$3,659.80")]
    assert ("bound", "") in parts(SWAP)
    assert ("bound", "") not in parts(SWAP, OPEN)
    assert "pool" in dict(parts(SWAP, OPEN))
    assert "pool" not in dict(parts(SWAP))


def test_the_rounding_of_many_lines_is_no_swap() -> None:
    """Three times 1.6 cents are five cents together and six as they are shown."""
    ids, fees = (28, 29, 30), Amounts(0, 16_000)
    collect = actions.modify_liquidities(
        [*(actions.Decrease(each, 0, 0, 0) for each in ids), actions.CloseCurrency(USDC)],
        1_768_180_500,
    )
    held = {ref: replace(HELD, ref=ref, fees=fees) for ref in map(v4_position, ids)}

    receipt = receipt_of(replace(facts(collect), changes={USDC: 48_000}, positions=held))

    assert [line.dollars for line in receipt.lines if line.part == "collect"] == ["$0.02"] * 3
    assert receipt.swap_cost == 0.0
    assert {line.part for line in receipt.lines} == {"wallet", "pay", "pool", "collect", "bound"}
    kept = receipt_of(replace(facts(collect), changes={USDC: 28_000}, positions=held))
    assert kept.swap_cost == pytest.approx(0.03), "what somebody keeps is told"


def test_what_is_held_between_two_transactions_is_said_with_its_amounts() -> None:
    close = actions.modify_liquidities([actions.Burn(28, 1, 1)], 1_768_180_500)
    opened = actions.execute((SWAP, OPEN), 1_768_180_500)
    steps = (*facts(close).steps, *facts(opened).steps)
    receipt = receipt_of(replace(facts(close), steps=steps))
    given = next(line.words for line in receipt.lines if line.part == "give")

    held = given.removeprefix("position #28: ")
    assert receipt.halfway == f"If 2 fails after 1, you hold {held} and no position."


def test_all_in_is_the_worst_swap_the_dearest_fill_and_the_highest_network_cost() -> None:
    """By looking at every tick, and by what the swap pays at least."""
    at_once = facts(actions.execute((SWAP, OPEN), 1_768_180_500))
    expected = dollars(NEW.holds(AT, 10**15, round_up=True))
    worst = (3_000 - 2_900) + (most_taken() - expected) + 7.005

    words, shown = next(
        (line.words, line.dollars)
        for line in receipt_of(at_once).lines
        if line.bounds == "worst case"
    )

    parts = [float(part) for part in re.findall(r"\$([\d.]+)", words)]
    assert words.startswith("swap $100.00 + price move $")
    assert sum(parts) == pytest.approx(bound_dollars(shown))
    assert worst - 0.02 <= bound_dollars(shown) <= worst + most_taken() * 0.0002


def test_all_in_counts_what_a_position_pays_less_until_its_pool_follows_the_dollars() -> None:
    """By looking at every tick: here the pool stands away from the dollar prices."""
    paid = [
        dollars(SPAN.holds(sqrt_price_at_tick(tick), LIQUIDITY, round_up=False))
        for tick in range(SPAN.tick_lower - 400, SPAN.tick_upper + 400)
    ]
    less = dollars(SPAN.holds(AT, LIQUIDITY, round_up=False)) - min(paid)
    more = most_taken() - dollars(NEW.holds(AT, 10**15, round_up=True))

    shown = bound_dollars(receipt_of(facts(MOVE)).lines[-1].dollars)

    assert less > 1
    assert less + more + 7.0 - 0.02 <= shown <= less + more + 7.02 + most_taken() * 0.0002


def test_where_a_hook_could_take_a_share_no_bound_is_claimed() -> None:
    hooked = PoolKey(WETH, USDC, 500, 10, "0x" + "00" * 19 + "01")
    opened = actions.modify_liquidities(
        [actions.Mint(hooked, -196_600, -195_300, 10**15, 10**18, 2_000 * 10**6, YOU)],
        1_768_180_500,
    )

    last = receipt_of(facts(opened)).lines[-1]

    assert last.bounds == "worst case"
    assert last.words.startswith("no bound")
    assert not last.dollars


def test_what_is_only_collected_with_a_hook_has_no_bound_either() -> None:
    hooked = PoolKey(WETH, USDC, 500, 10, "0x" + "00" * 19 + "01")
    collected = actions.modify_liquidities(
        [actions.Decrease(28, 0, 0, 0), actions.TakePair(WETH, USDC, YOU)], 1_768_180_500
    )
    held = replace(HELD, pool=PoolFacts(hooked, AT, 500))

    receipt = receipt_of(replace(facts(collected), positions={HELD.ref: held}))

    assert receipt.most_cost is None
    assert receipt.lines[-1].bounds == "worst case"
    assert receipt.lines[-1].words.startswith("no bound")


def test_no_figure_has_more_than_six_digits_and_none_is_made_up() -> None:
    told = receipt_of(facts(MOVE, priced=False, tried=False))

    assert {line.dollars for line in told.lines} == {""}
    for line in told.lines:
        figures = re.findall(r"(?<![#\w])[\d.,]*\d", line.words)
        assert all(len(re.sub(r"^[0.,]+|[.,]", "", figure)) <= 6 for figure in figures)
    wallet = next(line for line in told.lines if line.part == "wallet")
    assert not re.search(r"\d", wallet.words)


def test_transactions_are_shown_where_people_look_at_them() -> None:
    for network in all_networks():
        url = transaction_url(network, HASH)
        if network.clock == "head":
            assert url is None
        else:
            assert url is not None
            assert url.startswith("https://")
            assert url.endswith(f"/tx/{HASH}")
    assert transaction_url(network_named("devnet"), HASH) is None


@pytest.mark.parametrize(
    ("environment", "opens"),
    [
        ({}, False),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "4800"}, False),
        ({"TERM_PROGRAM": "WezTerm"}, True),
        ({"TERM": "tmux-256color", "TMUX": "/tmp/x", "TERM_PROGRAM": "WezTerm"}, False),
    ],
)
def test_a_link_is_drawn_where_the_terminal_opens_it(
    environment: dict[str, str], opens: bool
) -> None:
    assert can_link(environment) is opens
