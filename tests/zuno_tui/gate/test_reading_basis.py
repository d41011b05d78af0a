"""What a signature rests on, read at one block: its subject, the swap again, whose code runs."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.addresses import keccak
from chain.contracts.hooks import IMPLEMENTATION_SLOTS
from chain.contracts.networks import network_named
from chain.contracts.pool_key import PoolKey
from chain.execution.exit_tax import ExitTax
from chain.execution.plan.facts import PoolFacts, position_facts
from chain.positions.overview import Sources
from chain.protocols.custody import Custody
from chain.protocols.reference import v4_position
from chain.rpc.client import RpcClient
from chain.rpc.errors import Reverted
from tests.agents.monitor.made_up_alerts import WALLET
from tests.agents.monitor.made_up_positions import KEY, block, position
from tests.fakes.told_reader import ToldReader
from tests.zuno_tui.gate.test_drift import BEFORE, BOUNDS
from zuno_tui.gate.actions.action import ActionTarget
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
    assert [each.what for each in drifts(before, now, bounds)] == what


def test_positions_that_came_or_went_and_bounds_that_are_missing_are_drift() -> None:
    before, bounds = replace(BEFORE, others=(OTHER,)), replace(BOUNDS, others=(LIMITS,))
    for was, now, limits in (
        (before, BEFORE, bounds),
        (BEFORE, before, BOUNDS),
        (before, before, BOUNDS),
        (BEFORE, BEFORE, bounds),
        (before, replace(before, others=(OTHER, OTHER)), bounds),
    ):
        assert [each.what for each in drifts(was, now, limits)] == ["positions"]
    told = drifts(before, BEFORE, bounds)[0]
    assert str(told) == "positions: 2 of them when approved, others now"


def test_another_code_of_the_account_is_drift() -> None:
    now = replace(BEFORE, account_code="0x63")
    assert [each.what for each in drifts(BEFORE, now, BOUNDS)] == ["code of the account"]


def test_what_is_kept_beyond_what_was_told_is_drift() -> None:
    kept = ExitTax(ONE, 10**6, 990_000, by_hook=False)
    for told, is_drift in (({}, True), ({ONE: 9_000}, True), ({ONE: 10_000}, False)):
        assert bool([*kept_drifts(told, [kept])]) is is_drift
    [found] = kept_drifts({KEY.currency1: 10_000}, [kept])
    assert str(found).endswith("0.00% when approved, 1.00% now")


def test_a_price_that_is_not_known_on_one_side_is_no_price_drift() -> None:
    unknown = replace(BEFORE, sqrt_price_x96=None, pool_fee=None)
    dear = replace(BEFORE, sqrt_price_x96=1, pool_fee=10**6)
    assert drifts(unknown, dear, BOUNDS) == ()
    assert drifts(dear, unknown, BOUNDS) == ()
