"""Drift, and code that is known or another."""

from typing import cast

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.addresses import keccak
from chain.contracts.delegation import DELEGATION_MANAGER, NONCES, SIMPLE_ACCOUNT
from chain.contracts.networks import NATIVE, network_named, shipped_code_hashes
from chain.execution.plan.facts import SpenderAllowance, TokenAllowances
from chain.math.drift import price_band
from chain.positions.overview import Sources
from chain.rpc.client import RpcClient
from tests.fakes.told_reader import ToldReader
from zuno_tui.gate.allowances import GivenAllowance, allowances_given
from zuno_tui.gate.contract_code import (
    CodeHashes,
    called_contracts,
    forget_code,
    pinned_code,
    read_code_hashes,
    refuse_other_protocol,
    trust_words,
)
from zuno_tui.gate.drift import DriftLimits, WalletState, drifts
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

PRICE = 3 << 96
LIQUIDITY = 10**18
BAND = price_band(PRICE, 50)
BEFORE = WalletState(
    owner="0x" + "11" * 20,
    liquidity=LIQUIDITY,
    pool_id="0x" + "22" * 32,
    hook_code="0x" + "33" * 32,
    subscriber=None,
    sqrt_price_x96=PRICE,
    pool_fee=3000,
    nonce=7,
    base_fee=10**9,
)
BOUNDS = DriftLimits(BAND.lowest, BAND.highest, max_fee_per_gas=2 * 10**9, expires_at=1_000_600)


def _names(after: WalletState) -> list[str]:
    return [drift.what for drift in drifts(BEFORE, after, BOUNDS)]


def test_nothing_changed() -> None:
    assert _names(BEFORE) == []


@pytest.mark.parametrize(
    ("after", "what"),
    [
        (replace(BEFORE, owner="0x" + "44" * 20), "owner"),
        (replace(BEFORE, liquidity=LIQUIDITY - 1), "liquidity"),
        (replace(BEFORE, liquidity=LIQUIDITY + 1), "liquidity"),
        (replace(BEFORE, pool_id="0x" + "55" * 32), "pool"),
        (replace(BEFORE, hook_code="0x" + "66" * 32), "hook code"),
        (replace(BEFORE, hook_code=None), "hook code"),
        (replace(BEFORE, subscriber="0x" + "77" * 20), "subscriber"),
        (replace(BEFORE, nonce=8), "nonce of the wallet"),
        (replace(BEFORE, nonce=6), "nonce of the wallet"),
        (replace(BEFORE, sqrt_price_x96=BAND.highest + 1), "pool price"),
        (replace(BEFORE, sqrt_price_x96=BAND.lowest - 1), "pool price"),
        (replace(BEFORE, pool_fee=50_001), "pool fee"),
        (replace(BEFORE, base_fee=2 * 10**9 + 1), "base fee"),
    ],
)
def test_one_step_past_its_bound_is_refused(after: WalletState, what: str) -> None:
    assert _names(after) == [what]


@pytest.mark.parametrize(
    "after",
    [
        replace(BEFORE, sqrt_price_x96=BAND.highest),
        replace(BEFORE, sqrt_price_x96=BAND.lowest),
        replace(BEFORE, pool_fee=50_000),
        replace(BEFORE, pool_fee=0),
        replace(BEFORE, base_fee=2 * 10**9),
        replace(BEFORE, base_fee=0),
    ],
)
def test_what_stays_within_its_bound_is_let_through(after: WalletState) -> None:
    assert _names(after) == []


def test_every_drift_is_told_with_before_and_after() -> None:
    moved = replace(BEFORE, nonce=9, base_fee=3 * 10**9, sqrt_price_x96=4 << 96, pool_fee=1_000_000)

    told = [str(drift) for drift in drifts(BEFORE, moved, BOUNDS)]

    assert told == [
        "nonce of the wallet: 7 when approved, 9 now",
        "pool price: let move by -0.500% to +0.500% when approved, +77.778% and past that now",
        "pool fee: 0.3% when approved, 100% now",
        "base fee: at most 2000000000 wei a gas when approved, 3000000000 wei a gas now",
    ]


def test_a_pool_that_was_too_dear_before_may_still_be_left() -> None:
    dear = replace(BEFORE, pool_fee=1_000_000)

    assert drifts(dear, dear, BOUNDS) == ()


def test_what_is_not_about_a_pool_has_no_price_to_drift() -> None:
    wallet = replace(
        BEFORE,
        owner=None,
        liquidity=None,
        pool_id=None,
        hook_code=None,
        sqrt_price_x96=None,
        pool_fee=None,
    )

    assert drifts(wallet, wallet, replace(BOUNDS, highest_sqrt_price=0)) == ()
    assert [drift.what for drift in drifts(wallet, BEFORE, BOUNDS)] == [
        "owner",
        "liquidity",
        "pool",
        "hook code",
    ]


BASE = network_named("base")
OURS = BASE.contracts
PROTOCOL = (OURS.pool_manager, OURS.position_manager, OURS.permit2, str(OURS.universal_router))
ONE, TWO, THREE = ("0x" + digit * 40 for digit in "123")
NONE = frozenset[str]()


def test_everything_that_is_called_or_led_to_is_looked_at_once() -> None:
    assert called_contracts(BASE, (ONE, NATIVE, TWO, ONE)) == (*PROTOCOL, ONE, TWO)
    lent = called_contracts(BASE, (ONE,), lent=(str(OURS.delegate), TWO))
    assert lent == (*PROTOCOL, ONE, OURS.delegate, DELEGATION_MANAGER, NONCES)
    simple = SIMPLE_ACCOUNT.address
    assert called_contracts(BASE, (), lent=(simple,)) == (*PROTOCOL, simple)
    bare = replace(BASE, contracts=replace(OURS, delegate=None, universal_router=None))
    assert called_contracts(bare, (ONE,), lent=(str(OURS.delegate),)) == (*PROTOCOL[:3], ONE)


@pytest.mark.parametrize("address", PROTOCOL)
def test_uniswaps_own_code_is_what_it_is_known_to_be(address: str) -> None:
    known = dict.fromkeys((*PROTOCOL, ONE), "0xaa")
    refuse_other_protocol(BASE, CodeHashes(known, known, NONE, NONE))
    # A token's code is held against what was met by the policy, not here.
    refuse_other_protocol(BASE, CodeHashes({**known, ONE: "0xbb"}, known, NONE, NONE))
    with pytest.raises(GateRefusedError) as refused:
        refuse_other_protocol(BASE, CodeHashes({**known, address: "0xbb"}, known, NONE, NONE))
    assert refused.value.code is RefusalCode.CONTRACT_CODE


def test_on_what_grounds_code_is_trusted_is_said() -> None:
    now = {OURS.permit2: "0xaa", ONE: "0xbb", TWO: "0xcc", THREE: "0xdd"}
    codes = CodeHashes(
        now, {**now, THREE: "0xee"}, frozenset({OURS.permit2}), frozenset({TWO, THREE})
    )

    assert trust_words(BASE, codes)[:3] == (
        "Code as shipped with zuno: Permit2.",
        "Code as first seen from this home: 0x1111…1111.",
        "Code seen for the first time, and trusted from now on: 0x2222…2222.",
    )
    assert len(trust_words(BASE, codes)) == 4
    assert f"zuno doctor --forget {THREE}" in trust_words(BASE, codes)[3]
    lent = {str(OURS.delegate): "0xaa", DELEGATION_MANAGER: "0xbb", NONCES: "0xcc"}
    assert trust_words(BASE, CodeHashes(lent, lent, frozenset(lent), NONE)) == (
        "Code as shipped with zuno: the batch executor, DelegationManager, its nonces.",
    )
    bare = replace(BASE, contracts=replace(OURS, delegate=None))
    assert (
        "DelegationManager"
        not in trust_words(bare, CodeHashes(lent, lent, frozenset(lent), NONE))[0]
    )


async def test_code_is_held_against_what_was_shipped_then_against_what_was_met() -> None:
    one, shipped = OURS.permit2, shipped_code_hashes(BASE)
    code = {one: b"\1", TWO: b"\2", THREE: b"\3", NATIVE: b""}
    hashes = {each: "0x" + keccak(value).hex() for each, value in code.items()}
    client = ToldReader(lambda _, params: code[str(params[0])])
    own, pins = Store.in_memory(), Store.in_memory()
    sources = Sources(cast("RpcClient", client), BASE, own, None, lambda: 7.0)
    pins.put_many("contract-code-8453", {one: "0xpinned", TWO: "0xpinned"}, now=0)

    found = await read_code_hashes(
        sources, (one, TWO, THREE, NATIVE, one), "0x" + "b1" * 32, pins=pins
    )

    assert found.now == {each: hashes[each] for each in (one, TWO, THREE)}
    assert found.pinned == {one: shipped[one], TWO: "0xpinned", THREE: hashes[THREE]}
    assert (found.shipped, found.first_met) == (frozenset({one}), frozenset({THREE}))
    assert pinned_code(own, BASE) == {THREE: hashes[THREE]}
    assert len(client.asked) == 4
    assert forget_code(own, BASE, THREE)
    assert not forget_code(own, BASE, THREE)
    assert pinned_code(own, BASE) == {}


PERMIT2, MANAGER = BASE.contracts.permit2, BASE.contracts.position_manager
TOKEN, OTHER = "0x" + "aa" * 20, "0x" + "bb" * 20
NOW = 1000


def test_only_what_is_allowed_and_has_not_expired_is_given() -> None:
    def through(amount: int, expiration: int) -> TokenAllowances:
        return TokenAllowances(0, {MANAGER: SpenderAllowance(amount, expiration)})

    def given(found: TokenAllowances) -> tuple[GivenAllowance, ...]:
        return allowances_given(BASE, {TOKEN: found}, NOW)

    lasting = (GivenAllowance(TOKEN, MANAGER, "PositionManager", True, 7, NOW),)
    assert given(TokenAllowances(5, {})) == (
        GivenAllowance(TOKEN, PERMIT2, "Permit2", False, 5, None),
    )
    assert given(TokenAllowances(0, {})) == ()
    assert given(through(7, NOW)) == lasting
    assert given(through(7, NOW - 1)) == given(through(0, NOW + 1)) == ()


async def test_code_is_known_as_shipped_as_met_before_or_from_now_on() -> None:
    codes = {PERMIT2: b"\x01", TOKEN: b"\x02", OTHER: b""}
    reader = ToldReader(lambda _method, params: codes[str(params[0])])
    store, pins = Store.in_memory(), Store.in_memory()
    sources = Sources(cast("RpcClient", reader), BASE, store, None, lambda: float(NOW))
    first = await read_code_hashes(sources, codes, "latest", pins=pins)
    again = await read_code_hashes(sources, codes, "latest", pins=store)

    hashes = {each: "0x" + keccak(code).hex() for each, code in codes.items() if code}
    shipped = shipped_code_hashes(BASE)[PERMIT2]
    assert first.now == again.now == hashes
    assert first.pinned == again.pinned == {PERMIT2: shipped, TOKEN: hashes[TOKEN]}
    assert first.shipped == again.shipped == {PERMIT2}
    assert first.first_met == {TOKEN}
    assert again.first_met == set()
