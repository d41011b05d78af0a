"""Plans for positions of Uniswap v3, from the command to what the chain holds afterwards."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from chain.contracts.networks import NATIVE, network_named
from chain.devnet.launch import DevnetReady
from chain.protocols.v3.pool_key import v3_pool_address
from tests.embedded_chain import embedded_chain
from tests.fakes.lying_endpoint import Lie, lying_endpoint, results
from tests.fakes.providers.profile import Profile
from tests.fakes.providers.served import ServedProvider
from tests.fakes.proxy import Proxy
from tests.samples import some_of
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.lie_parts import code_of, reads
from tests.zuno_tui.providers.test_zoo_table import SERVING

NETWORK = network_named("devnet")
WALKS: dict[str, tuple[str, ...]] = {
    "collect": ("collect", "3:4"),
    "collect as ETH": ("collect", "3:5", "--eth"),
    "decrease": ("decrease", "3:3", "40"),
    "increase": ("increase", "3:5", "500", "USDC"),
    "increase with ETH": ("increase", "3:5", "0.5", "ETH"),
    "close": ("close", "3:6"),
    "close as ETH": ("close", "3:5", "--eth"),
    "close both": ("close", "3:3", "27"),
    "collect all": ("collect", "all"),
    "move without a swap": ("move", "3:4", "--no-swap"),
    "migrate": ("migrate", "3:3"),
    "migrate out of range": ("migrate", "3:4", "to", "v4", "0.05%"),
    "migrate from v4": ("migrate", "27", "to", "v3"),
    "migrate what pays a coin": ("migrate", "33", "to", "v3", "0.05%"),
}


@pytest.fixture(scope="module")
def chain() -> Iterator[DevnetReady]:
    with embedded_chain(v3=True) as ready:
        yield ready


def approved(desk: Desk, *words: str, option: str = "A") -> dict[str, Any]:
    """Of a migration, which is argued about, one of its options."""
    said = desk.here(*words, "--json")
    if words[0] == "migrate":
        assert said.code == 0, said.words
        plan = json.loads(said.out)["planId"]
        said = desk.here("approve", plan, "--candidate", option, "--json")
    assert said.code == 0, said.words
    found: dict[str, Any] = json.loads(said.out)
    return found


def applied(desk: Desk, approval: dict[str, Any]) -> dict[str, Any]:
    said = desk.apply_here(approval["planId"], "--confirm", approval["hash"], "--anyway", "--json")
    assert said.code == 0, said.words
    found: dict[str, Any] = json.loads(said.out)
    return found


@pytest.mark.parametrize(
    ("walk", "way"), some_of(product(WALKS, ("in steps", "as one")), 3, seed=1783)
)
def test_what_is_shown_is_what_the_chain_did(desk: Desk, walk: str, way: str) -> None:
    if way == "as one":
        desk.delegate()
    approval = approved(desk, *WALKS[walk])
    result = applied(desk, approval)

    shown = {token: amount for token, amount in result["quoted"].items() if amount != "0"}
    realised = {token: amount for token, amount in result["realised"].items() if amount != "0"}
    assert realised == shown
    if way == "as one":
        assert len(approval["transactions"]) == 1
    left = desk.here("revoke", "--json")
    assert way == "in steps" or not json.loads(left.out)["allowances"]


def test_fees_and_what_was_withdrawn_before_are_told_apart(desk: Desk) -> None:
    said = desk.here("collect", "3:4")
    rows = [line.split() for line in said.out.splitlines()]
    (withdrawn,) = [row for row in rows if "withdrawn" in row and "before:" in row]
    (fees,) = [row for row in rows if row[:5] == ["you", "collect", "the", "fees", "of"]]
    paid = [float(row[-1].lstrip("$").replace(",", "")) for row in (fees, withdrawn)]
    assert paid[0] < 100 < 4_000 < paid[1]


def nth_word(place: int, change: Callable[[int], int]) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        word = int.from_bytes(data[32 * place : 32 * place + 32], "big")
        told = (change(word) % 2**256).to_bytes(32, "big")
        return data[: 32 * place] + told + data[32 * place + 32 :]

    return changed


def of_v3() -> tuple[str, str]:
    assert NETWORK.v3 is not None
    weth, usdc = NETWORK.wrapped_native or "", NETWORK.stable or ""
    pool = v3_pool_address(NETWORK.v3.factory, *sorted((weth, usdc)), 500)
    return NETWORK.v3.position_manager, pool


MANAGER, POOL = of_v3()
POSITION, IN_POOL = "positions(uint256)", "positions(bytes32)"
LIES: dict[str, Lie] = {
    "more liquidity": reads([MANAGER], POSITION, nth_word(7, lambda held: held * 2)),
    "less liquidity": reads([MANAGER], POSITION, nth_word(7, lambda held: held // 2)),
    "another range": reads([MANAGER], POSITION, nth_word(6, lambda tick: tick + 10)),
    "more is owed": reads([MANAGER], POSITION, nth_word(11, lambda owed: owed + 10**9)),
    "less is owed": reads([MANAGER], POSITION, nth_word(11, lambda owed: owed // 2)),
    "another's": reads([MANAGER], "ownerOf(uint256)", nth_word(0, lambda _: 7)),
    "another price": reads([POOL], "slot0()", nth_word(0, lambda price: price * 101 // 100)),
    "another tick": reads([POOL], "slot0()", nth_word(1, lambda tick: tick + 100)),
    "growth": reads([POOL], "feeGrowthGlobal1X128()", nth_word(0, lambda word: word + 2**125)),
    "pool liquidity": reads([POOL], "liquidity()", nth_word(0, lambda held: held * 2)),
    "owed to the manager": reads([POOL], IN_POOL, nth_word(4, lambda owed: owed // 2)),
    "code of the manager": code_of(MANAGER),
    "allowance": reads(
        [NETWORK.stable or ""], "allowance(address,address)", nth_word(0, lambda _: 10**12)
    ),
    "simulation fails": results("eth_simulateV1", lambda _: None),
}
ORDERS: dict[str, tuple[str, ...]] = {
    "collect": ("collect", "3:4"),
    "close": ("close", "3:5"),
    "increase": ("increase", "3:5", "500", "USDC"),
    "decrease": ("decrease", "3:3", "40"),
    "move": ("move", "3:4", "--no-swap"),
    "migrate": ("migrate", "3:3"),
}
PLACES = {"asked first": 0, "asked second": 1, "one of three": 2}


@pytest.mark.parametrize(
    ("order", "lie", "place"), some_of(product(ORDERS, LIES, PLACES), 5, seed=3)
)
def test_one_endpoint_that_lies_has_nothing_else_signed(
    desk: Desk, order: str, lie: str, place: str
) -> None:
    words = ORDERS[order]
    if order == "migrate":
        words = ("approve", desk.approved(*words)["planId"], "--candidate", "A")
    honest = approved(desk, *words)
    with (
        lying_endpoint(desk.devnet.url, LIES[lie]) as liar,
        Proxy(desk.devnet.url) as other,
        Proxy(desk.devnet.url) as third,
    ):
        urls = [other.url] if PLACES[place] < 2 else [other.url, third.url]
        urls.insert(PLACES[place] % 2, liar.url)
        said = replace(desk, rpc=",".join(urls)).here(*words, "--json")
    if said.code:
        assert said.code in (3, 4), said.words
        return
    told = json.loads(said.out)
    assert [(each["to"], each["data"], each["value"]) for each in told["transactions"]] == [
        (each["to"], each["data"], each["value"]) for each in honest["transactions"]
    ]


def test_a_plan_of_v3_is_refused_where_the_managers_code_is_another(desk: Desk) -> None:
    approval = approved(desk, "close", "3:5")
    desk.ask("evm_mine")
    manager = NETWORK.v3.position_manager if NETWORK.v3 else ""
    code = desk.ask("eth_getCode", manager, "latest")
    desk.ask("anvil_setCode", manager, code + "00")
    said = desk.apply_here(approval["planId"], "--confirm", approval["hash"])
    assert said.code == 3
    assert "NonfungiblePositionManager" in said.words
    assert "Nothing was sent" in said.words or "Nothing was signed" in said.words
    desk.ask("anvil_setCode", manager, code)


@pytest.mark.parametrize(
    ("step", "sent"),
    some_of([("allow through Permit2", 2), ("exit", 5), ("batch", 1)], 1, seed=44),
)
def test_a_migration_killed_at_a_step_happens_once_and_says_what_is_held(
    desk: Desk, step: str, sent: int
) -> None:
    if step == "batch":
        desk.delegate()
    approval = approved(desk, "migrate", "3:3")
    before = desk.nonce()
    assert desk.killed_while_waiting(approval, at=step) == -9
    desk.ask("evm_setAutomine", True)
    desk.ask("evm_mine")
    again = desk.apply(approval["planId"], "--confirm", approval["hash"])

    assert again.code == 3, again.words
    assert desk.nonce() == before + sent
    told = desk.here("outbox", "--json").data["dispatches"]
    (mine,) = [each for each in told if each["hash"] == approval["hash"]]
    done = [each for each in mine["steps"] if each["state"] in ("included", "final")]
    assert len(done) == sent
    names = [each["tokenId"] for each in desk.here("positions", "--json").data["positions"]]
    whole = step == "batch"
    assert ("3:3" in names) is step.startswith("allow")
    assert len([name for name in names if ":" not in name]) == (12 if whole else 11)
    if step == "exit":
        stands = desk.here("outbox", "resume", approval["planId"], "--confirm", approval["hash"])
        assert "closed, both tokens in the wallet" in stands.words


DEBATES = {
    "a move": ("recommend", "27"),
    "a move on v3": ("recommend", "3:3"),
    "a move on v3 of what was not withdrawn before": ("recommend", "3:4"),
    "a move on v3 at 1%": ("recommend", "3:6"),
    "a migration to v4": ("migrate", "3:3"),
    "a migration to v3": ("migrate", "33"),
    "a new position": ("create", "0.5 WETH with USDC"),
    "a new position on v3": ("create", "0.5 WETH with USDC in a v3 pool"),
}


@pytest.mark.parametrize(
    ("debate", "way"), some_of(product(DEBATES, ("in steps", "as one")), 2, seed=9)
)
def test_what_a_plan_leaves_over_is_what_comes_back(desk: Desk, debate: str, way: str) -> None:
    if way == "as one":
        desk.delegate()
    plan = desk.approved(*DEBATES[debate], "--deterministic")
    checked = 0
    for option in plan["candidates"]:
        said = desk.here("approve", plan["planId"], "--candidate", str(option["index"]), "--json")
        if said.code:
            assert "ruled out" in said.words
            continue
        quoted = json.loads(said.out)["quoted"]
        changes = [
            # What a pool of the coin paid is wrapped only as far as the next one takes it.
            int(quoted[token]) + (token == NETWORK.wrapped_native and int(quoted.get(NATIVE, 0)))
            for token in tokens_of(plan, option)
        ]
        left = [
            int(option[f"residual{side}"]) + int(option.get(f"withdrawn{side}", 0))
            for side in (0, 1)
        ]
        given = [0, 0] if plan["position"] else given_to(option)
        put_in = [int(option["amount0"]), int(option["amount1"])]
        for came, kept, gave, most in zip(changes, left, given, put_in, strict=True):
            # v3 makes of what it is given what liquidity it can at the price it meets.
            near = most // 10_000 if "v3" in debate else 0
            assert came + gave == pytest.approx(kept, abs=2 + near)
        checked += 1
    assert checked


@pytest.mark.parametrize("way", ["in steps", "as one"])
def test_a_move_with_a_swap_costs_what_its_plan_said(desk: Desk, way: str) -> None:
    if way == "as one":
        desk.delegate()
    plan = approved(desk, "recommend", "3:4", "--deterministic")
    option = next(
        each
        for each in plan["candidates"]
        if each["prepAction"] and each["judgment"]["verdict"] != "veto"
    )
    approval = approved(desk, "approve", plan["planId"], "--candidate", str(option["index"]))

    planned = option["costUsd"] - option["gasUsd"]
    # The plan counts at the price of the pool, the receipt at the price of the dollar.
    apart = int(option["prepAction"]["amountIn"]) / 10**6 / 5_000
    assert approval["receipt"]["swapUsd"] == pytest.approx(planned, abs=apart)
    assert int(option["withdrawn1"]) > 4_000 * 10**6
    result = applied(desk, approval)
    assert result["realised"] == result["quoted"]


def tokens_of(plan: dict[str, Any], option: dict[str, Any]) -> tuple[str, str]:
    (pool,) = (each for each in plan["pools"] if each["poolId"] == option["poolId"])
    return pool["currency0"], pool["currency1"]


def given_to(option: dict[str, Any]) -> list[int]:
    """What the capital was before its swap."""
    whole = [int(option[f"amount{side}"]) + int(option[f"residual{side}"]) for side in (0, 1)]
    swap = option["prepAction"]
    if swap is not None:
        sold = 0 if swap["zeroForOne"] else 1
        whole[sold] += int(swap["amountIn"])
        whole[1 - sold] -= int(swap["amountOut"])
    return whole


def test_a_migration_is_argued_about_as_any_plan_is(desk: Desk) -> None:
    plan = desk.approved("migrate", "3:3", "--deterministic")
    options = plan["candidates"]
    same = [each for each in options if each["poolId"] != options[0]["poolId"]]
    entered = {each["poolId"] for each in options}
    nets = [each["net7d"] for each in (options[0], *same)]

    assert {each["kind"] for each in options} == {"migrate"}
    assert plan["hold"]["poolId"] == POOL
    assert POOL not in entered
    assert len(entered) > 1, "the coin and its wrapped form are one pair"
    assert nets == sorted(nets, reverse=True), "where it should net the most comes first"
    assert plan["choice"]["kind"] == "hold", "in range nothing is moved for yield alone"
    replayed = desk.here("replay", plan["requestId"], "--json")
    assert replayed.code == 0, replayed.words
    assert replayed.data["planId"] == plan["planId"]


def test_there_is_nowhere_to_go_without_a_pool_of_the_pair(desk: Desk) -> None:
    refused = desk.here("migrate", "3:6", "to", "v4", "0.01%")
    assert refused.code == 1
    assert "has no pool of this pair at 0.01%" in refused.words
    own = desk.here("migrate", "3:3", "to", "v3")
    assert own.code == 1
    assert "3:3 is on Uniswap v3 already" in own.words


MIGRATIONS = [
    *[("3:3", option) for option in "ABC"],
    *[("3:5", option) for option in "AB"],
    *[("3:6", option) for option in "AC"],
    ("3:4", "B"),
    ("27", "A"),
    ("33", "A"),
]
"""Ten, in steps and as one: twenty plans."""
_MOST_STEPS = 9


@pytest.mark.soak
@pytest.mark.parametrize("place", [*range(_MOST_STEPS), "as one"])
@pytest.mark.parametrize(("name", "option"), MIGRATIONS)
def test_a_migration_killed_anywhere_happens_once(
    desk: Desk, name: str, option: str, place: int | str
) -> None:
    if place == "as one":
        desk.delegate()
    approval = approved(desk, "migrate", name, option=option)
    steps, at = approval["transactions"], 0 if place == "as one" else int(place)
    if at >= len(steps):
        return
    before, held = desk.nonce(), set(desk.positions())
    code = desk.killed_while_waiting(approval, place=at)
    desk.ask("evm_setAutomine", True)
    desk.ask("evm_mine")
    again = desk.apply(approval["planId"], "--confirm", approval["hash"])
    now = set(desk.positions())
    names = [step["step"] for step in steps[: at + 1]]
    closed = any(step in ("exit", "batch") for step in names)
    opened = at == len(steps) - 1

    assert (code, again.code) == (-9, 3), again.words
    assert desk.nonce() == before + at + 1
    assert (name in now) is not closed
    assert len(now - held) == opened


THROUGH = SERVING
WRITES = ("close", "collect", "move without a swap", "migrate")


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("walk", "profile"),
    some_of(product(WRITES, THROUGH), 1, seed=11),
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_plans_of_v3_are_carried_out_through_every_provider(
    desk: Desk, walk: str, profile: Profile
) -> None:
    with ServedProvider(replace(profile, network="devnet"), desk.devnet.url) as served:
        through = replace(desk, rpc=served.url)
        desk.ask("evm_mine")
        approval = approved(through, *WALKS[walk])
        result = applied(through, approval)
    simulates = "eth_simulateV1" not in dict(profile.refused_methods)
    assert result["realised"]
    assert not simulates or result["realised"] == result["quoted"]
    assert all(step["state"] in ("included", "final") for step in result["transactions"])
