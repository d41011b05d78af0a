"""A wallet's ledger against the embedded chain: what moved explains what is owned, to the unit."""

from collections.abc import Mapping
from fractions import Fraction

from chain.base.units import Known, Quantity
from chain.bookkeeping.ledger import EntryKind, LedgerAccount, LedgerEntry
from chain.bookkeeping.wallet_history import WalletHistory, read_custody_log, read_wallet_history
from chain.contracts.networks import Address
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import DEMO_WALLET, NEIGHBOUR, WIDE_PROVIDER
from chain.positions.overview import Sources, read_worths
from chain.prices.price import WorthUnit
from chain.rpc.client import RpcClient
from chain.tokens import Token
from tests.chain.between import Door, without_archive
from tests.chain.conftest import Desk
from tests.chain.moves import Moves


async def _history(
    desk: Desk, owner: Address, plans: Mapping[str, str], client: RpcClient | None = None
) -> WalletHistory:
    sources = Sources(client or desk.client, desk.network, desk.store, None, lambda: 0.0)
    [worth] = await read_worths(sources, [owner], WorthUnit.USD)
    return await read_wallet_history(sources, worth, plans)


def _sums(history: WalletHistory, kind: EntryKind | None = None) -> dict[Address, int]:
    sums: dict[Address, int] = {}
    for one in history.entries:
        if kind in (None, one.kind):
            sums[one.token.address] = sums.get(one.token.address, 0) + one.amount
    return sums


async def test_a_range_that_was_left_swapped_and_entered_anew_is_one_story(
    desk: Desk, changing: Moves
) -> None:
    owner = WIDE_PROVIDER.address
    before = await _history(desk, owner, {})
    old = before.facts.worth.overview.wallet.positions[0]
    key = old.pool.key
    left = changing.burn(WIDE_PROVIDER, old.identity)
    swapped = changing.swap(WIDE_PROVIDER, key, 10**15, zero_for_one=True)
    spacing = key.tick_spacing
    bounds = (old.pool.tick // spacing - 10) * spacing, (old.pool.tick // spacing + 10) * spacing
    [new] = changing.mint(WIDE_PROVIDER, key, [bounds], 10**15, owner)

    after = await _history(desk, owner, {left: "plan", swapped: "plan"})

    assert not after.gaps
    assert f"#{old.ref} → #{new}" in {one.story.name for one in after.results}
    assert _sums(after, EntryKind.SWAP)[key.currency0] == -(10**15)
    # Every unit that came or went since is one of the entries: nothing more is unexplained.
    assert _sums(after, EntryKind.ELSEWHERE) == _sums(before, EntryKind.ELSEWHERE)
    for history in (before, after):
        worth = history.facts.worth
        assert _sums(history) == {one: _units(worth.total_of(one)) for one in _sums(history)}
        usd = sum(one.usd.value for one in history.entries if isinstance(one.usd, Known))
        assert usd == worth.total


async def test_a_swap_costs_its_fee_and_its_impact_by_the_prices_before_it(
    desk: Desk, changing: Moves
) -> None:
    """As the page that signs counts it; after it the pool stands where the swap moved it."""
    owner = WIDE_PROVIDER.address
    before = await _history(desk, owner, {})
    keys = {position.pool.key for position in before.facts.worth.overview.wallet.positions}
    key = next(one for one in keys if one.currency1 == desk.network.stable and one.fee == 500)
    swapped = changing.swap(WIDE_PROVIDER, key, 20 * 10**18, zero_for_one=True)

    after = await _history(desk, owner, {swapped: "plan"})

    legs = [one for one in after.entries if one.transaction == swapped]
    legs = [one for one in legs if one.kind is EntryKind.SWAP]
    assert len(legs) == 2
    for one in legs:
        price = before.facts.price_now(one.token.address)
        assert isinstance(price, Known)
        assert isinstance(one.usd, Known)
        assert one.usd.value == price.value * one.amount / 10 ** (one.token.decimals or 0)
    lost = -sum(one.usd.value for one in legs if isinstance(one.usd, Known))
    sold = 20 * before.facts.price_now(key.currency0).value  # type: ignore[union-attr]
    assert lost > sold * Fraction(5, 10_000), "its fee, and its impact besides"
    usd = sum(one.usd.value for one in after.entries if isinstance(one.usd, Known))
    assert usd == after.facts.worth.total


def _units(known: Quantity[int]) -> int:
    assert isinstance(known, Known)
    return known.value


async def test_a_position_given_away_leaves_with_all_that_was_in_it(
    desk: Desk, changing: Moves
) -> None:
    owner = WIDE_PROVIDER.address
    before = await _history(desk, owner, {})
    given = before.facts.worth.overview.wallet.positions[0]
    changing.give(WIDE_PROVIDER, NEIGHBOUR.address, given.ref.token_id)

    after = await _history(desk, owner, {})
    theirs = await _history(desk, NEIGHBOUR.address, {})

    inside = [one for one in after.entries if one.position == given.ref]
    mine = [one for one in inside if one.account is LedgerAccount.POSITION]
    assert EntryKind.TRANSFERRED in {one.kind for one in mine}
    assert {sum(one.amount for one in mine if one.token == token) for token in _tokens(mine)} == {0}
    [result] = [one for one in after.results if given.ref in one.story.refs]
    assert not isinstance(result.result, Known)
    arrived = [one for one in theirs.entries if one.position == given.ref]
    assert {one.kind for one in arrived} <= {
        EntryKind.TRANSFERRED,
        EntryKind.FEES,
        EntryKind.REVALUED,
    }
    usd = sum(one.usd.value for one in theirs.entries if isinstance(one.usd, Known))
    assert usd == theirs.facts.worth.total


async def test_a_custody_log_goes_on_where_it_was_kept(desk: Desk) -> None:
    sources = Sources(desk.client, desk.network, desk.store, None, lambda: 0.0)
    head = (await desk.client.head()).number
    whole = await read_custody_log(sources.without_memory(), DEMO_WALLET.address, head)
    part = await read_custody_log(sources, DEMO_WALLET.address, head // 2)
    seen: list[int] = []

    rest = await read_custody_log(
        sources, DEMO_WALLET.address, head, watch=lambda told: seen.append(told.first)
    )

    assert 0 < len(part) < len(whole)
    assert rest == whole
    assert min(seen) > desk.network.first_block


async def test_prices_that_were_read_once_need_no_archive_any_more(
    desk: Desk, devnet: DevnetReady
) -> None:
    head = (await desk.client.head()).number
    async with (
        Door(devnet.url, without_archive(head, kept=0)) as door,
        RpcClient(desk.network, [door.url]) as client,
    ):
        never = await _history(desk, DEMO_WALLET.address, {}, client)
        first = await _history(desk, DEMO_WALLET.address, {})
        again = await _history(desk, DEMO_WALLET.address, {}, client)

    assert not any(isinstance(price, Known) for price in _past_prices(never))
    assert _past_prices(again) == _past_prices(first)
    assert any(isinstance(price, Known) for price in _past_prices(first))


def _past_prices(history: WalletHistory) -> list[Quantity[Fraction]]:
    return [price for told in history.facts.prices.values() for price in told.values()]


def _tokens(entries: list[LedgerEntry]) -> set[Token]:
    return {one.token for one in entries}
