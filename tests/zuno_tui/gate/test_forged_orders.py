"""Forgeries that would make sense by themselves: another order, a worse pool, a dearer copy."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from chain.contracts.abi import decode, encode_call
from chain.contracts.calldata import approve_through_permit2, approve_token, initialize_pool
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import DecodedPoolKey, PoolKey
from chain.devnet.world.accounts import STRANGER, WIDE_PROVIDER
from chain.devnet.world.deployment import CONTRACTS, WETH
from chain.devnet.world.pools import SLEEPY
from chain.execution.plan.records import DecodedPermit2Transfer, Permit2Approval, TokenApproval
from chain.execution.v4.records import (
    DecodedMint,
    DecodedSwapExactIn,
    DecodedTakePair,
)
from chain.math.ticks import nearest_usable_tick, tick_at_sqrt_price
from tests import node_rpc
from tests.chain.moves import NEVER, Moves
from tests.zuno_tui.gate.desk import REFUSED, Desk
from tests.zuno_tui.gate.forged_journal import Draft, KeptJournal, read_draft, write_forged
from tests.zuno_tui.gate.forging import (
    Forged,
    ThiefAtHome,
    honest_home,
    signed_in,
    thief_at,
)

_QUOTE = "quoteExactInputSingle(((address,address,uint24,int24,address),bool,uint128,bytes))"
_UNUSED_TIER = (10_000, 200)


@pytest.fixture
def thief(desk: Desk) -> Iterator[ThiefAtHome]:
    before = desk.ask("evm_snapshot")
    home = honest_home(desk, ("collect", "close", "move with a swap"))
    with thief_at(desk, home) as made:
        yield made
    node_rpc.take_back(desk.devnet.url, before)


def _close_in_the_place_of_collect(thief: ThiefAtHome, *, tag: bool) -> Forged:
    """All that an honest approval to close holds, under the name of the plan to collect."""
    meant, other = thief.draft("collect"), thief.draft("close")
    meant.steps, meant.deadlines = other.steps, other.deadlines
    meant.terms = {**other.terms, "planId": meant.plan_id}
    return thief.write("collect", meant, "close in the place of collect", tag=tag)


def test_one_approval_in_the_place_of_another_is_not_signed(thief: ThiefAtHome) -> None:
    forged = _close_in_the_place_of_collect(thief, tag=False)

    by_the_honest_hash = thief.applied(forged, forged.honest_hash)
    by_its_own = thief.applied(forged, forged.hash)

    assert (by_the_honest_hash.code, by_its_own.code) == (REFUSED, REFUSED)
    assert thief.signed() == []


def test_whoever_has_the_machines_key_too_is_held_to_the_hash_that_was_shown(
    thief: ThiefAtHome,
) -> None:
    """Another order of the wallet's own passes the policy: only its hash and its words differ."""
    forged = _close_in_the_place_of_collect(thief, tag=True)

    by_the_honest_hash = thief.applied(forged, forged.honest_hash)

    assert by_the_honest_hash.code == REFUSED
    assert thief.signed() == []


def test_bytes_that_pay_a_stranger_are_not_exported_under_a_stolen_tag(
    thief: ThiefAtHome,
) -> None:
    draft = thief.draft("collect")
    pays = encode_call("transfer(address,uint256)", STRANGER.address, 10**6)
    draft.change_step(0, to=WETH.address, data=pays)
    forged = thief.write("collect", draft, "a transfer", tag=True)

    for form in ("safe", "raw"):
        exported = thief.desk.here("export", forged.plan_id, "--format", form)
        assert exported.code == REFUSED, exported.words
        assert pays.hex() not in exported.out


def _cheap_pool(thief: ThiefAtHome, swap: DecodedSwapExactIn) -> PoolKey:
    """A plain pool of the same pair, opened by a thief at a third of what the pair is worth."""
    pool = PoolKey(swap.pool.currency0, swap.pool.currency1, *_UNUSED_TIER, NATIVE)
    price = thief.desk.price(SLEEPY.key.pool_id)
    # The square root of three, to the side on which the seller gets less.
    worse = price * 1000 // 1732 if swap.zero_for_one else price * 1732 // 1000
    with httpx2.Client(verify=False) as http:
        moves = Moves(http, thief.desk.devnet.url, network_named("devnet"))
        for token in (pool.currency0, pool.currency1):
            moves.send(WIDE_PROVIDER, token, approve_token(CONTRACTS.permit2, 2**200))
            grant = approve_through_permit2(token, CONTRACTS.position_manager, 2**159, NEVER)
            moves.send(WIDE_PROVIDER, CONTRACTS.permit2, grant)
        manager = CONTRACTS.position_manager
        moves.send(WIDE_PROVIDER, manager, initialize_pool(pool, worse))
        centre, spacing = tick_at_sqrt_price(worse), pool.tick_spacing
        ticks = [nearest_usable_tick(centre + side * 4_000, spacing) for side in (-1, 1)]
        moves.mint(WIDE_PROVIDER, pool, [(ticks[0], ticks[1])], 10**15, WIDE_PROVIDER.address)
    return pool


def _through(thief: ThiefAtHome, draft: Draft, pool: PoolKey) -> None:
    """The swap led through this pool, everything behind it made to fit what it pays."""
    [(place, swap)] = draft.records(DecodedSwapExactIn)
    data = encode_call(_QUOTE, (pool.values, swap.zero_for_one, swap.amount_in, b""))
    call = {"to": CONTRACTS.quoter, "data": "0x" + data.hex()}
    answer = bytes.fromhex(thief.desk.ask("eth_call", call, "latest")[2:])
    pays = int(decode(("uint256", "uint256"), answer)[0])
    assert pays < swap.amount_out_minimum // 2, "a pool that pays far less"
    least = pays * 995 // 1000
    draft.rewrite(
        place, swap, replace(swap, pool=DecodedPoolKey(*pool.values), amount_out_minimum=least)
    )
    [(_, mint)] = draft.records(DecodedMint)
    draft.rewrite(
        place,
        mint,
        replace(
            mint,
            liquidity=mint.liquidity // 4 + 1,
            amount0_max=mint.amount0_max // 4,
            amount1_max=mint.amount1_max // 4,
        ),
    )
    for _, transfer in draft.records(DecodedPermit2Transfer):
        smaller = replace(transfer, amount=transfer.amount // 4)
        draft.rewrite(place, transfer, smaller)
    _fit_allowances(draft)


def _fit_allowances(draft: Draft) -> None:
    """Exactly what the steps move, as an honest plan would allow it."""
    needed: dict[str, int] = {}
    for _, transfer in draft.records(DecodedPermit2Transfer):
        needed[transfer.token] = needed.get(transfer.token, 0) + transfer.amount
    [(_, swap)] = draft.records(DecodedSwapExactIn)
    sold = swap.pool.currency0 if swap.zero_for_one else swap.pool.currency1
    needed[sold] = needed.get(sold, 0) + swap.amount_in
    for place, approval in draft.records(TokenApproval, Permit2Approval):
        token = draft.steps[place].to if isinstance(approval, TokenApproval) else approval.token
        draft.rewrite(place, approval, replace(approval, amount=needed[token]))


def test_a_swap_led_through_a_thiefs_own_pool_is_not_signed(
    thief: ThiefAtHome,
) -> None:
    draft = thief.draft("move with a swap")
    [(_, swap)] = draft.records(DecodedSwapExactIn)
    pool = _cheap_pool(thief, swap)
    # The thief's own blocks came between: nothing but the pool is to give the forgery away.
    fresh = thief.desk.approved("approve", draft.plan_id, "--candidate", _candidate(thief))
    draft = read_draft(thief.path, fresh["hash"])
    _through(thief, draft, pool)
    forged = thief.write("move with a swap", draft, "through a cheap pool")

    spoken = thief.applied(forged, forged.hash)

    assert thief.signed() == [], spoken.words
    assert spoken.code == REFUSED, spoken.words


def _candidate(thief: ThiefAtHome) -> str:
    plan = thief.desk.here("plan", thief.approvals["move with a swap"]["planId"], "--json").data
    return next(
        str(one["index"])
        for one in plan["candidates"]
        if one["judgment"]["verdict"] != "veto" and one["prepAction"] is not None
    )


@pytest.fixture
def waiting(desk: Desk) -> Iterator[dict[str, Any]]:
    """A plan that was signed and sent, and waits for a block."""
    before = desk.ask("evm_snapshot")
    approval = desk.approved("collect", str(desk.token_id("transferred in")))
    desk.killed_while_waiting(approval, at="collect")
    yield approval
    node_rpc.take_back(desk.devnet.url, before)


def test_a_dearer_copy_of_forged_bytes_is_not_signed(desk: Desk, waiting: dict[str, Any]) -> None:
    path = desk.command.home / "outbox.db"
    journal = KeptJournal(path)
    draft = read_draft(path, waiting["hash"])
    honest_bytes = draft.steps[0].data
    [(place, taken)] = draft.records(DecodedTakePair)
    draft.rewrite(place, taken, replace(taken, recipient=STRANGER.address))
    sealed = write_forged(path, draft)

    signed_before = signed_in(path)
    forged = desk.here("outbox", "speed-up", waiting["planId"], "--confirm", sealed)
    signed_of_forged = signed_in(path)
    journal.put_back()
    honest = desk.here("outbox", "speed-up", waiting["planId"], "--confirm", waiting["hash"])
    signed = signed_in(path)
    journal.close()

    assert signed_of_forged == signed_before
    assert forged.code == REFUSED, forged.words
    assert [one.data for one in signed] == [honest_bytes] * 2, honest.words
