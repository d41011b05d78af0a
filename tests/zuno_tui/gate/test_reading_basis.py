"""What a signature rests on, read at one block: its subject, the swap again, whose code runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.addresses import keccak
from chain.contracts.hooks import IMPLEMENTATION_SLOTS
from chain.contracts.networks import network_named
from chain.contracts.pool_key import PoolKey
from chain.execution.build.facts import PoolFacts, position_facts
from chain.execution.build.requests import QuotedSwap
from chain.execution.exit_tax import ExitTax
from chain.positions.custody import Custody
from chain.positions.overview import Sources
from chain.positions.reference import v4_position
from chain.rpc.errors import Reverted
from tests.agents.monitor.made_up_alerts import WALLET
from tests.agents.monitor.made_up_positions import KEY, block, position
from tests.fakes.told_reader import ToldReader
from tests.zuno_tui.gate.test_drift import BEFORE, BOUNDS
from zuno_tui.gate import basis
from zuno_tui.gate.actions.action import ActionTarget, TargetKind
from zuno_tui.gate.basis import (
    Basis,
    BasisQuestion,
    SubjectGoneError,
    SwapInput,
    read_basis,
    replay_swap,
)
from zuno_tui.gate.drift import (
    OtherPosition,
    PriceLimits,
    WalletState,
    code_drifts,
    drifts,
    kept_drifts,
    network_time,
    read_circumstances,
    read_hook_code,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from chain.rpc.client import RpcClient

BASE, DEVNET = network_named("base"), network_named("devnet")
HOOKED = PoolKey(KEY.currency0, KEY.currency1, 3_000, 10, "0x" + "00" * 18 + "0080")
"""Its hook runs before every swap."""
HELD = position_facts(position(0))
ONE = KEY.currency0


def _sources(
    answer: Callable[[str, tuple[Any, ...]], object] = lambda *_: None, network: str = "base"
) -> Sources:
    client = cast("RpcClient", ToldReader(answer))
    return Sources(client, network_named(network), Store.in_memory(), None, lambda: 5_000.7)


class _Depth:
    """A pool that pays twice of what goes in, up to what it takes."""

    def __init__(self, most: int, left: list[object]) -> None:
        self.most, self.left = most, left

    def without(self, *span: int) -> _Depth:
        self.left.append(span)
        return self


@pytest.mark.parametrize(
    ("pool", "leaving", "most", "quoter", "pays", "leaves"),
    [
        # Nothing leaves: the quoter is asked too, and the lower of both counts.
        (KEY, None, 100, {KEY: 150}, 150, False),
        (KEY, None, 100, {KEY: 250}, 200, False),
        (KEY, None, 100, {}, 200, False),
        (KEY, None, 99, {}, None, False),
        # The quoter does not know of what leaves first, so it is not asked.
        (KEY, HELD, 100, None, 200, True),
        (KEY, HELD, 99, None, None, True),
        (replace(KEY, fee=500), HELD, 100, None, 200, False),
        # What a hook does to a swap only the quoter sees.
        (HOOKED, HELD, 100, {HOOKED: 150}, 150, False),
    ],
)
async def test_a_swap_is_counted_again_at_the_block(
    monkeypatch: pytest.MonkeyPatch,
    pool: PoolKey,
    leaving: object,
    most: int,
    quoter: dict[PoolKey, int] | None,
    pays: int | None,
    leaves: bool,
) -> None:
    left = list[object]()
    state = SimpleNamespace(pool_id="pool")

    async def read_slots(*_: object) -> object:
        return SimpleNamespace(words=())

    async def read_depths(_: object, __: object, states: object, *, reach: int) -> object:
        assert (states, reach > 0) == ([state], True)
        return {"pool": _Depth(most, left)}

    async def quotes_across(*asked: object, zero_for_one: bool, at: str) -> object:
        assert quoter is not None, "the quoter was asked"
        assert (*asked[2:], zero_for_one, at) == ([pool], 100, True, "0xb1")
        return quoter

    def quote(depth: _Depth, amount: int, *, zero_for_one: bool) -> object:
        taken = min(amount, depth.most)
        assert zero_for_one
        return SimpleNamespace(
            amount_in=taken, amount_out=2 * taken, sqrt_price_after=9, sqrt_price_before=8
        )

    for name, fake in (
        ("read_slots", read_slots),
        ("read_depths", read_depths),
        ("quotes_across", quotes_across),
        ("quote_at_most", quote),
        ("pool_states", lambda keys, _: [state] if keys == [pool] else []),
    ):
        monkeypatch.setattr(basis, name, fake)
    swap = SwapInput(pool, True, 100, cast("Any", leaving))

    found = await replay_swap(_sources(), swap, "0xb1")

    assert found == (None if pays is None else QuotedSwap(pool, True, 100, pays, 9))
    assert left == ([(-1_000, 1_000, 10**15)] if leaves else [])
    monkeypatch.setattr(basis, "pool_states", lambda *_: [])
    assert await replay_swap(_sources(), swap, "0xb1") is None


async def test_everything_is_read_at_the_block_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, subject, sources = block(100), ActionTarget(block(100)), _sources()
    swap = SwapInput(KEY, True, 100)
    question = BasisQuestion(TargetKind(v4_position(7)), WALLET, (ONE,), (KEY.currency1,), (), swap)
    pins, witness, asked = Store.in_memory(), ToldReader(lambda *_: None), list[object]()

    def reader(name: str, *wanted: object) -> None:
        async def read(*given: object, **more: object) -> str:
            assert (*given, *more.values()) == wanted
            return name

        monkeypatch.setattr(basis, name, read)

    async def read_subject(_: object, about: TargetKind, *, at: str) -> ActionTarget | None:
        asked.append((about, at))
        return found

    client, at = sources.client, here.hash
    reader("read_circumstances", sources, subject, WALLET)
    reader("read_chain_facts", client, BASE, WALLET, (ONE,), here)
    reader("tokens_at", sources, (ONE,), at, True)
    reader("read_code_hashes", sources, (KEY.currency1,), at, pins)
    reader("replay_swap", sources, swap, at)
    reader("simulate_whole", (client, witness), (), at, (ONE,))
    monkeypatch.setattr(basis, "read_subject", read_subject)
    names = ("read_circumstances", "read_chain_facts", "tokens_at", "read_code_hashes")
    whole = Basis(subject, *cast("Any", (*names, "replay_swap", "simulate_whole")))

    found: ActionTarget | None = subject
    assert await read_basis(sources, question, here, pins=pins, trial_by=[witness]) == whole
    assert asked == [(TargetKind(v4_position(7)), at)]
    known = await read_basis(
        sources, question, here, pins=pins, subject=subject, trial_by=[witness]
    )
    assert (known, len(asked)) == (whole, 1)
    bare = replace(question, swap=None)
    without = await read_basis(sources, bare, here, pins=pins, trial_by=[witness])
    assert without.swap is None
    found = None
    with pytest.raises(SubjectGoneError, match="position #7 is not there"):
        await read_basis(sources, question, here, pins=pins)


LENT = "0xef0100" + "63" * 20


def _chain(code: str = "", hook: str = "") -> Callable[[str, tuple[Any, ...]], object]:
    def answer(method: str, params: tuple[Any, ...]) -> object:
        assert params[-1] == {"blockHash": block(100).hash, "requireCanonical": True}
        if method == "eth_getTransactionCount":
            return 11
        if method == "eth_getStorageAt":
            return "0x" + "00" * 32
        return bytes.fromhex(code.removeprefix("0x") if params[0] == WALLET else hook)

    return answer


@pytest.mark.parametrize(
    ("code", "account"),
    [("", None), (LENT, "0x" + "63" * 20), ("6001", "0x" + keccak(b"\x60\x01").hex())],
)
async def test_a_wallet_is_told_with_the_code_that_runs_as_it(
    code: str, account: str | None
) -> None:
    alone = await read_circumstances(_sources(_chain(code)), ActionTarget(block(100)), WALLET)
    assert alone == WalletState(
        owner=None,
        liquidity=None,
        pool_id=None,
        hook_code=None,
        subscriber=None,
        sqrt_price_x96=None,
        pool_fee=None,
        nonce=11,
        base_fee=1,
        account_code=account,
    )


async def test_a_position_a_pool_and_further_positions_are_told_whole() -> None:
    sources = _sources(_chain(hook="6002"))
    first = replace(position(0), custody=Custody("0x01", None, "0x02"))
    hooked = replace(position(0, number=8).pool, key=HOOKED, pool_id=HOOKED.pool_id, lp_fee=500)
    second = replace(position(0, number=8), pool=hooked, liquidity=9)
    pool = PoolFacts(KEY, first.pool.sqrt_price_x96, 3_000)
    subject = ActionTarget(replace(block(100), base_fee_per_gas=None), pool, first, (second,))

    found = await read_circumstances(sources, subject, WALLET)

    hook = "0x" + keccak(b"\x60\x02").hex()
    assert found == WalletState(
        owner=first.owner,
        liquidity=10**15,
        pool_id=KEY.pool_id,
        hook_code=None,
        subscriber=first.custody.subscriber,
        sqrt_price_x96=first.pool.sqrt_price_x96,
        pool_fee=3_000,
        nonce=11,
        base_fee=0,
        others=(
            OtherPosition(
                v4_position(8),
                second.owner,
                9,
                HOOKED.pool_id,
                hook,
                second.custody.subscriber,
                hooked.sqrt_price_x96,
                500,
            ),
        ),
    )
    entered = ActionTarget(block(100), PoolFacts(HOOKED, 5, 500))
    state = await read_circumstances(sources, entered, WALLET)
    assert (state.hook_code, state.sqrt_price_x96, state.pool_fee) == (hook, 5, 500)
    assert (state.owner, state.pool_id) == (None, HOOKED.pool_id)


HOOK, LOGIC, BEACON = "0x" + "a1" * 20, "0x" + "a2" * 20, "0x" + "a3" * 20
_EMPTY = "0x" + "00" * 32


def _word(address: str) -> str:
    return "0x" + "00" * 12 + address[2:]


async def _hook_code(
    slots: tuple[str, ...], codes: dict[str, bytes], named: object = None
) -> str | None:
    places = list(slots)

    def answer(method: str, params: tuple[Any, ...]) -> object:
        if method == "eth_getStorageAt":
            return places.pop(0)
        if method == "eth_call":
            assert params[0]["to"] == BEACON
            return named
        return codes.get(params[0], b"")

    return await read_hook_code(cast("RpcClient", ToldReader(answer)), HOOK, "latest")


async def test_a_hooks_code_is_all_code_that_answers_for_it() -> None:
    count = len(IMPLEMENTATION_SLOTS)
    none = (_EMPTY,) * (count + 1)
    proxied = (_word(LOGIC), *none[1:])
    beaconed = (*none[:-1], _word(BEACON))
    code = {HOOK: b"\x01", LOGIC: b"\x02", BEACON: b"\x03"}
    upgraded = {**code, LOGIC: b"\x04"}
    reverts = Reverted(b"", "no such function", endpoint="a")

    assert await _hook_code(none, {}) is None
    assert await _hook_code(proxied, {}) is None
    assert await _hook_code(none, code) == "0x" + keccak(b"\x01").hex()
    kinds = [
        await _hook_code(none, code),
        await _hook_code(none, {**code, HOOK: b"\x09"}),
        await _hook_code(proxied, code),
        await _hook_code(proxied, upgraded),
        await _hook_code((_word(BEACON), *none[1:]), code),
        await _hook_code(beaconed, code, bytes(12) + bytes.fromhex(LOGIC[2:])),
        await _hook_code(beaconed, upgraded, bytes(12) + bytes.fromhex(LOGIC[2:])),
        await _hook_code(beaconed, code, reverts),
    ]
    assert len(set(kinds)) == len(kinds)
    assert await _hook_code(beaconed, code, b"\x01") == kinds[-1], "it names nothing, so itself"
    content = " ".join(("0x" + keccak(b"\x01").hex(), LOGIC, keccak(b"\x02").hex()))
    assert kinds[2] == "0x" + keccak(content.encode()).hex()


def test_a_network_with_a_clock_of_its_own_is_gone_by() -> None:
    assert network_time(_sources(network="devnet"), 77) == 77
    assert network_time(_sources(), 77) == 5_000


def test_code_that_differs_or_came_or_went_is_told() -> None:
    told = [
        str(each)
        for each in code_drifts({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "9", "d": "4"})
    ]
    assert told == [
        "code of b: 2 when approved, 9 now",
        "code of c: 3 when approved, none now",
        "code of d: none when approved, 4 now",
    ]


OTHER = OtherPosition(v4_position(8), "0x01", 5, "0x77", "0x88", None, 3 << 96, 3_000)
LIMITS = PriceLimits((3 << 96) - 10, (3 << 96) + 10)


@pytest.mark.parametrize(
    ("after", "what"),
    [
        ({}, []),
        ({"owner": "0x02"}, ["owner of #8"]),
        ({"liquidity": 6}, ["liquidity of #8"]),
        ({"pool_id": "0x78"}, ["pool of #8"]),
        ({"hook_code": None}, ["hook code of #8"]),
        ({"subscriber": "0x03"}, ["subscriber of #8"]),
        ({"sqrt_price_x96": (3 << 96) + 10}, []),
        ({"sqrt_price_x96": (3 << 96) + 11}, ["pool price of #8"]),
        ({"sqrt_price_x96": (3 << 96) - 11}, ["pool price of #8"]),
        ({"pool_fee": 50_000}, []),
        ({"pool_fee": 50_001}, ["pool fee of #8"]),
        ({"token_id": 9}, ["positions"]),
    ],
)
def test_a_further_position_may_drift_no_further_than_the_first(
    after: dict[str, Any], what: list[str]
) -> None:
    before = replace(BEFORE, others=(OTHER,))
    bounds = replace(BOUNDS, others=(LIMITS,))
    now = replace(BEFORE, others=(replace(OTHER, **after),))
    assert [each.what for each in drifts(before, now, bounds, 1_000_000)] == what


def test_positions_that_came_or_went_and_bounds_that_are_missing_are_drift() -> None:
    before, bounds = replace(BEFORE, others=(OTHER,)), replace(BOUNDS, others=(LIMITS,))
    for was, now, limits in (
        (before, BEFORE, bounds),
        (BEFORE, before, BOUNDS),
        (before, before, BOUNDS),
        (BEFORE, BEFORE, bounds),
        (before, replace(before, others=(OTHER, OTHER)), bounds),
    ):
        assert [each.what for each in drifts(was, now, limits, 1_000_000)] == ["positions"]
    told = drifts(before, BEFORE, bounds, 1_000_000)[0]
    assert str(told) == "positions: 2 of them when approved, others now"


def test_another_code_of_the_account_is_drift() -> None:
    now = replace(BEFORE, account_code="0x63")
    assert [each.what for each in drifts(BEFORE, now, BOUNDS, 1_000_000)] == ["code of the account"]


@pytest.mark.parametrize(("told", "share"), [({}, 0), ({ONE: 7}, 7), ({KEY.currency1: 7}, 0)])
@pytest.mark.parametrize("is_more", [False, True])
def test_what_is_kept_beyond_what_was_told_is_drift(
    told: dict[str, int], share: int, is_more: bool
) -> None:
    compared = list[int]()

    def exceeds(than: int) -> bool:
        compared.append(than)
        return is_more

    kept = cast("ExitTax", SimpleNamespace(token=ONE, millionths=10_000, exceeds=exceeds))
    found = [str(each) for each in kept_drifts(told, [kept])]

    assert (compared, bool(found)) == ([share], is_more)
    assert all(each.endswith("0.00% when approved, 1.00% now") for each in found)


def test_a_price_that_is_not_known_on_one_side_is_no_price_drift() -> None:
    unknown = replace(BEFORE, sqrt_price_x96=None, pool_fee=None)
    dear = replace(BEFORE, sqrt_price_x96=1, pool_fee=10**6)
    assert drifts(unknown, dear, BOUNDS, 1_000_000) == ()
    assert drifts(dear, unknown, BOUNDS, 1_000_000) == ()
