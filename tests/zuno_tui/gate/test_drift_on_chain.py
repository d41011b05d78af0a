"""Every kind of drift made on the chain between `approve` and `apply`, at its edge and in sizes."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from chain.contracts.abi import encode_call
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import KEEPER
from chain.devnet.world.deployment import FEE_STEWARD, UPDATE_FEE
from chain.devnet.world.pools import DYNAMIC
from chain.execution.outbox.outbox import Outbox
from chain.execution.plan.context import DEAREST_POOL_FEE
from tests.chain.moves import Moves
from tests.fakes.proxy import Proxy
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.drift_kinds import KINDS, LET_THROUGH, Drifting
from zuno_tui.gate.apply import unused_approval
from zuno_tui.gate.drift import DriftLimits

EDGE, MANY = 2, 50


@pytest.fixture
def proxy(devnet: DevnetReady) -> Iterator[Proxy]:
    with Proxy(devnet.url) as between:
        yield between


def _judged(drifting: Drifting, kind: str, sizes: int) -> Iterator[tuple[str, bool, bool]]:
    """The size, whether it may pass, and whether it did; a refusal tells before and after."""
    for change in drifting.changes(kind, sizes):
        words = drifting.verdict(kind, change)
        passed = LET_THROUGH in words
        if not passed and kind == "approval":
            assert "it lasts ten minutes. Nothing was signed" in words
        elif not passed:
            (told,) = [line for line in words.splitlines() if line.startswith(f"  {kind}: ")]
            assert " when approved, " in told
            assert told.endswith(" now")
            assert "Nothing was sent." in words
        yield change.size, change.allowed, passed


@pytest.mark.parametrize("state", KINDS)
def test_each_is_let_through_at_its_bound_and_refused_one_past_it(
    state: str, desk: Desk, moves: Moves, proxy: Proxy
) -> None:
    drifting = Drifting.approved(state, desk, moves, proxy)
    before = desk.nonce()

    for kind in KINDS[state]:
        judged = [(allowed, passed) for _, allowed, passed in _judged(drifting, kind, EDGE)]
        assert judged[:2] == [(True, True), (False, False)], kind
        assert judged[2:] in ([], [(True, True), (False, False)]), kind
    assert desk.nonce() == before


@pytest.mark.soak
@pytest.mark.parametrize(
    ("state", "kind"), [(state, kind) for state, kinds in KINDS.items() for kind in kinds]
)
def test_fifty_sizes_of_each_have_the_verdict_specified(
    state: str,
    kind: str,
    desk: Desk,
    moves: Moves,
    proxy: Proxy,
    capsys: pytest.CaptureFixture[str],
) -> None:
    drifting = Drifting.approved(state, desk, moves, proxy)
    before = desk.nonce()

    judged = list(_judged(drifting, kind, MANY))

    let = [size for size, _, passed in judged if passed]
    held = [size for size, _, passed in judged if not passed]
    wrong = [size for size, allowed, passed in judged if allowed != passed]
    with capsys.disabled():
        print(  # noqa: T201 - the table it is to show
            f"{kind:20} {len(judged)} sizes: {len(let):2} let through (to {let[0]}), "
            f"{len(held):2} refused (from {held[0]}), {len(wrong)} otherwise than specified"
        )
    assert len(judged) == MANY
    assert wrong == []
    assert desk.nonce() == before


def _kept_bounds(desk: Desk, plan_id: str) -> DriftLimits:
    with Outbox.open(desk.command.home / "outbox.db") as outbox:
        return unused_approval(outbox, plan_id, None)[0].bounds


def test_a_plan_to_open_drifts_with_the_pool_it_enters(desk: Desk, moves: Moves) -> None:
    plan = desk.here("create", "0.5 WETH and 1300 USDC, 0.05%", "--json", "--deterministic").data
    move = next(one for one in plan["candidates"] if one["judgment"]["verdict"] != "veto")
    approval = desk.approved("approve", plan["planId"], "--candidate", str(move["index"]))
    bounds, pool_id = _kept_bounds(desk, plan["planId"]), move["poolId"]
    within = desk.price(pool_id) * 10_001 // 10_000
    changes: dict[str, tuple[Callable[[], object], str]] = {
        "within": (partial(desk.set_price, pool_id, within), LET_THROUGH),
        # What is kept back of the budget pays for the whole drift, to its ends.
        "at its bound": (partial(desk.set_price, pool_id, bounds.highest_sqrt_price), LET_THROUGH),
        "at its other": (partial(desk.set_price, pool_id, bounds.lowest_sqrt_price), LET_THROUGH),
        "past it": (partial(desk.set_price, pool_id, bounds.highest_sqrt_price + 1), "pool price:"),
        "below": (partial(desk.set_price, pool_id, bounds.lowest_sqrt_price - 1), "pool price:"),
        "nonce": (partial(moves.rpc, "anvil_setNonce", desk.devnet.wallet, "0xfff"), "nonce"),
        "age": (partial(moves.rpc, "evm_mine", hex(approval["expiresAt"])), "it lasts ten minutes"),
    }

    for what, (make, words) in changes.items():
        with moves.undone():
            make()
            moves.rpc("evm_mine")
            assert words in desk.refused(plan["planId"]).words, what


def test_a_fee_that_a_hook_raises_past_the_limit_ends_an_approval_to_enter(
    desk: Desk, moves: Moves
) -> None:
    approval = desk.approved("increase", str(desk.token_id("dynamic fee")), "0.1", "WETH")

    def refused_at(fee: int) -> str:
        with moves.undone():
            data = encode_call(UPDATE_FEE, DYNAMIC.key.values, fee)
            moves.send(KEEPER, FEE_STEWARD, data)
            return desk.refused(approval["planId"]).words

    assert LET_THROUGH in refused_at(DEAREST_POOL_FEE)
    assert "pool fee: 0.1% when approved, 5.0001% now" in refused_at(DEAREST_POOL_FEE + 1)
    assert "pool fee: 0.1% when approved, 100% now" in refused_at(1_000_000)
