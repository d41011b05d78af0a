"""Reading a wallet's whole life on one network, and what it came to."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TypeAlias

from msgspec import Struct, to_builtins
from msgspec.structs import astuple, replace

from chain.base.units import Known, Quantity, Unknown
from chain.bookkeeping.facts import PaidTransaction, PastPrices, PositionLife, WalletFacts
from chain.bookkeeping.ledger import LedgerEntry, ledger_of, read_transactions
from chain.bookkeeping.results import StoryResult, stories, stories_sharing, story_result
from chain.contracts import abi
from chain.contracts.networks import NATIVE, Address
from chain.contracts.pool_key import POOL_KEY_TYPES, PoolId, PoolKey
from chain.math.liquidity import Amounts
from chain.positions.overview import Sources, WalletWorth, currencies, tokens_at
from chain.positions.performance import read_past
from chain.positions.search import WalletPositions
from chain.prices.coingecko import coingecko_prices_at
from chain.prices.ladder import median_of_two, price_by_ladder, with_ether
from chain.prices.pool_prices import DepthMemory, ask_pool_prices, prices_from_pools
from chain.prices.price import said_words
from chain.protocols.past import NOTHING, LiquidityChange
from chain.protocols.protocol import LiquidityProtocol
from chain.protocols.reference import (
    PositionRef,
    position_label,
    v4_position,
    v4_token_id,
)
from chain.protocols.registry import protocol_named, protocol_of
from chain.protocols.snapshot import PositionIdentity, PositionSnapshot, identify
from chain.protocols.v4.changes import ChangeMemory, ChangeReader
from chain.protocols.v4.circumstances import PastWords, read_past_words
from chain.protocols.v4.holdings import TRANSFER, owner_words
from chain.read.block_reader import OneBlock, expect, read_slots, settle_in_parts, sound_answers
from chain.read.logs import ScanProgress, in_chain_order, scan_parts
from chain.rpc import requests
from chain.rpc.records import Block, Log, LogFilter


async def read_past_prices(
    sources: Sources,
    head: Block,
    moments: Mapping[int, int],
    tokens: Iterable[Address],
    also: Iterable[PoolKey] = (),
) -> PastPrices:
    """The prices at each of these blocks, which are given with their times.

    How deep a pool is, is asked at the head alone: what it was then would take an archive many
    requests to tell. The price is that of the block itself.
    """
    network = sources.network
    question = ask_pool_prices(network, with_ether(network, tokens), also)
    here = OneBlock(sources.client, network, head.hash)
    now = await read_slots(here, network, question.slots)
    memory = DepthMemory(sources.store, network, sources.clock())
    depths = await question.depths(now.words, here, memory)
    words = await _past_words(sources, head, moments, question.slots)
    market = await _market(sources, question.wanted, moments)
    found: dict[int, Mapping[Address, Quantity[Fraction]]] = {}
    for block, time in moments.items():
        then = words[block]
        pools: Mapping[Address, Quantity[Fraction]]
        if isinstance(then, Unknown):
            pools = dict.fromkeys(question.wanted, then)
        else:
            states = question.believable(then.value)
            at = Block(block, "", "", time, None, 0, 0)
            told = prices_from_pools(network, question.wanted, states, depths, at)
            pools = {address: _dated(price, block) for address, price in told.items()}
        found[block] = {
            address: price_of_then(market.get(time, {}).get(address), price)
            for address, price in pools.items()
        }
    return found


class _KeptWords(Struct, frozen=True):
    """Storage of finalized blocks, which nodes throw away; the hash tells that it is this chain."""

    through: int
    hash: str
    words: dict[str, dict[str, str]]
    """By block and slot, in hex."""


async def _past_words(
    sources: Sources, head: Block, moments: Iterable[int], slots: Sequence[int]
) -> PastWords:
    """The values of these slots at these blocks; what was read once is not asked for again."""
    client, network, store = sources.client, sources.network, sources.store
    key = f"{network.chain_id}/{network.contracts.pool_manager}"
    kept = store.read(_KeptWords, _PAST_WORDS, key)
    landmark = requests.block("earliest" if kept is None else kept.through)
    final, there = await client.settle([requests.block("finalized"), landmark])
    # The embedded chain has no other past to go back to.
    final = head if network.clock == "head" else final
    same = kept is not None and isinstance(there, Block) and there.hash == kept.hash
    known = dict(kept.words) if kept is not None and same else {}
    names = {slot: f"{slot:x}" for slot in slots}
    words: PastWords = {}
    for block in moments:
        there_then = known.get(str(block), {})
        if all(name in there_then for name in names.values()):
            read = {slot: int(there_then[name], 16) for slot, name in names.items()}
            words[block] = Known(read, "PoolManager storage", block)
    missing = {block: slots for block in moments if block not in words}
    fresh = await read_past_words(client, network, missing)
    for block, told in fresh.items():
        if isinstance(told, Known) and isinstance(final, Block) and block <= final.number:
            read_then = {f"{slot:x}": f"{word:x}" for slot, word in told.value.items()}
            known[str(block)] = known.get(str(block), {}) | read_then
    if fresh and isinstance(final, Block):
        now_kept = _KeptWords(final.number, final.hash, known)
        store.put(_PAST_WORDS, key, to_builtins(now_kept), now=sources.clock())
    return {**fresh, **words}


async def _market(
    sources: Sources, tokens: Sequence[Address], moments: Mapping[int, int]
) -> Mapping[int, Mapping[Address, Quantity[Fraction]]]:
    """By time, where the network's tokens are traded anywhere but on itself."""
    coingecko, network = sources.coingecko, sources.network
    if coingecko is None:
        return {}
    told = await coingecko_prices_at(coingecko, network, tokens, moments.values())
    if coingecko.second is None:
        return told
    second = await coingecko.second.usd_at(network, tokens, moments.values())
    return {
        time: {
            token: median_of_two(told[time][token], price) if token in told[time] else price
            for token, price in prices.items()
        }
        for time, prices in second.items()
    }


def price_of_then(
    market: Quantity[Fraction] | None, pools: Quantity[Fraction]
) -> Quantity[Fraction]:
    """The market's; where somebody says otherwise the source tells what each says."""
    if market is None or isinstance(market, Unknown):
        return pools
    price = price_by_ladder(market, pools)
    if isinstance(price.usd, Unknown) or not price.is_disputed:
        return price.usd
    block = None if isinstance(pools, Unknown) else pools.block
    return Known(price.usd.value, f"disputed: {said_words(price)}", block, price.usd.time)


def _dated(price: Quantity[Fraction], block: int) -> Quantity[Fraction]:
    if isinstance(price, Unknown):
        return price
    return Known(price.value, f"{price.source} at block {block}", block, price.time)


_PAST_WORDS = "past pool words"
_NAMESPACE = "custody log"


class CustodyChange(Struct, frozen=True):
    """A position that went from one address to another; from nobody when it was minted."""

    ref: PositionRef
    block_number: int
    log_index: int
    transaction_hash: str
    sender: Address
    recipient: Address


_CustodyRow: TypeAlias = tuple[int, int, int, str, Address, Address]
"""The token id, and the rest of a change as it is."""


class _CustodyLog(Struct, frozen=True):
    through: int
    hash: str
    changes: tuple[_CustodyRow, ...]


async def read_custody_log(
    sources: Sources,
    owner: Address,
    until: int,
    *,
    watch: Callable[[ScanProgress], None] = lambda _: None,
) -> tuple[CustodyChange, ...]:
    """All that concern this wallet up to a block, oldest first."""
    network = sources.network
    key = _custody_key(sources, owner)
    kept = sources.store.read(_CustodyLog, _NAMESPACE, key)
    landmark = requests.block("earliest" if kept is None else kept.through)
    final, there = await sources.client.settle([requests.block("finalized"), landmark])
    if kept is not None and not (isinstance(there, Block) and there.hash == kept.hash):
        kept = None
    first = network.first_block if kept is None else kept.through + 1
    rows = () if kept is None else kept.changes
    changes = [CustodyChange(v4_position(row[0]), *row[1:]) for row in rows]
    settled = min(final.number, until) if isinstance(final, Block) else first - 1
    word = owner_words([owner])
    filters = [(TRANSFER, word), (TRANSFER, None, word)]
    manager = network.contracts.position_manager
    for start, end in ((first, settled), (max(first, settled + 1), until)):
        async for part in scan_parts(sources.client, manager, filters, start, end):
            changes += map(_change, part.logs)
            if part.header is not None and part.end <= settled:
                # Whoever is stopped goes on from here.
                rows = tuple((v4_token_id(each.ref), *astuple(each)[1:]) for each in changes)
                log = _CustodyLog(part.end, part.header.hash, rows)
                sources.store.put(_NAMESPACE, key, to_builtins(log), now=sources.clock())
            watch(ScanProgress(first, until, part.end, len(changes)))
    return tuple(changes)


async def _proved_custody(
    sources: Sources, wallet: WalletPositions, watch: Callable[[ScanProgress], None]
) -> tuple[tuple[CustodyChange, ...], frozenset[PositionRef]]:
    """The log, and the positions of which it tells another owner than the chain does.

    Where there are any it is not kept, and is read again: once more, and from the others.
    """
    held = {position.ref for position in _searched(wallet)}
    for _ in (*sources.client.labels, "once more"):
        custody = await read_custody_log(sources, wallet.owner, wallet.block.number, watch=watch)
        owners = {transfer.ref: transfer.recipient for transfer in custody}
        told = {ref for ref, owner in owners.items() if owner == wallet.owner}
        if told == held:
            break
        sources.store.forget_key(_NAMESPACE, _custody_key(sources, wallet.owner))
        sources.client.ask_others_first()
    return custody, frozenset(told ^ held)


def _custody_key(sources: Sources, owner: Address) -> str:
    network = sources.network
    return f"{network.chain_id}/{network.contracts.position_manager}/{owner}"


def _burned(custody: Sequence[CustodyChange], ref: PositionRef) -> int | None:
    """The liquidity of a position that the wallet holds no more: none if it was burned."""
    last = [transfer.recipient for transfer in custody if transfer.ref == ref][-1:]
    return 0 if last == [NATIVE] else None


def _change(log: Log, position: Callable[[int], PositionRef] = v4_position) -> CustodyChange:
    sender, recipient = ("0x" + topic[-40:] for topic in log.topics[1:3])
    place = log.block_number, log.log_index, log.transaction_hash
    return CustodyChange(position(int(log.topics[3], 16)), *place, sender, recipient)


_POOL_KEYS = abi.selector("poolKeys(bytes25)")
_POOL_ID_DIGITS = 50


class WalletHistory(Struct, frozen=True):
    facts: WalletFacts
    entries: tuple[LedgerEntry, ...]
    results: tuple[StoryResult, ...]
    gaps: tuple[str, ...]
    """What of it could not be read, each a sentence."""


async def read_wallet_history(
    sources: Sources,
    worth: WalletWorth,
    plans: Mapping[str, str],
    *,
    watch: Callable[[ScanProgress], None] = lambda _: None,
) -> WalletHistory:
    """Up to the block of its worth; `plans` are transactions of ours and the plan of each."""
    with sound_answers():
        return await _read(sources, worth, plans, watch)


async def _read(
    sources: Sources,
    worth: WalletWorth,
    plans: Mapping[str, str],
    watch: Callable[[ScanProgress], None],
) -> WalletHistory:
    wallet = worth.overview.wallet
    custody, traceless = await _proved_custody(sources, wallet, watch)
    minted = {
        transfer.ref: transfer.block_number for transfer in custody if transfer.sender == NATIVE
    }
    sources.memory.remember_minted(minted)
    moves = await read_transactions(sources, [transfer.transaction_hash for transfer in custody])
    identities, pools = await _identities(sources, wallet, custody, moves.values())
    lives = await _lives(sources, wallet, identities, custody, traceless=traceless, watch=watch)
    lives += await _listed_lives(sources, worth)
    hashes = {
        *(change.place.transaction_hash for life in lives for change in life.changes),
        *(plan for plan in plans if plan not in moves),
    }
    sent = moves | await read_transactions(sources, hashes - {*moves})
    sent = {key: paid for key, paid in sent.items() if paid.block <= wallet.block.number}
    pools = await _pool_keys(sources, _swapped(sent.values()), pools)
    facts = await _facts(sources, worth, lives, sent, pools)
    entries = ledger_of(facts)
    told = stories(lives, plans)
    sharing = stories_sharing(told, plans)
    results = tuple(story_result(facts, story, entries, plans, sharing) for story in told)
    return WalletHistory(facts, entries, results, tuple(_gaps(facts, custody)))


async def read_closed_lives(
    sources: Sources,
    wallet: WalletPositions,
    *,
    watch: Callable[[ScanProgress], None] = lambda _: None,
) -> tuple[PositionLife, ...]:
    """Of the positions of v4 that the wallet had once and holds no more, up to its block."""
    held = {position.ref for position in wallet.positions}
    with sound_answers():
        custody, traceless = await _proved_custody(sources, wallet, watch)
        gone = [transfer for transfer in custody if transfer.ref not in held]
        if not gone:
            return ()
        moves = await read_transactions(sources, [transfer.transaction_hash for transfer in gone])
        known, _ = await _identities(sources, wallet, gone, moves.values())
        closed = [identity for identity in known if identity.ref not in held]
        return await _lives(sources, wallet, closed, gone, traceless=traceless, watch=watch)


async def _lives(
    sources: Sources,
    wallet: WalletPositions,
    identities: Sequence[PositionIdentity],
    custody: Sequence[CustodyChange],
    *,
    traceless: frozenset[PositionRef],
    watch: Callable[[ScanProgress], None],
) -> tuple[PositionLife, ...]:
    network = sources.network
    held = {position.ref: position for position in _searched(wallet)}
    reader = ChangeReader(
        sources.client,
        network,
        sources.memory,
        ChangeMemory(sources.store, network, sources.clock),
        watch=watch,
    )
    changes = await reader.changes(
        {
            identity: held[identity.ref].liquidity
            if identity.ref in held
            else _burned(custody, identity.ref)
            for identity in identities
        },
        wallet.block.number,
    )
    return tuple(
        _life(
            wallet,
            identity,
            changes[identity.ref],
            [c for c in custody if c.ref == identity.ref],
            left_out=identity.ref in traceless,
        )
        for identity in identities
    )


def _searched(wallet: WalletPositions) -> list[PositionSnapshot]:
    """Those of protocols whose managers list nobody's tokens: logs alone tell who had which."""
    return [each for each in wallet.positions if not protocol_of(each.ref).lists_tokens]


async def _custody_at_once(
    sources: Sources, protocol: LiquidityProtocol, owner: Address, head: Block
) -> tuple[CustodyChange, ...]:
    """All changes of a protocol; nothing where no endpoint gives the logs of all blocks."""
    manager, word = protocol.manager(sources.network), owner_words([owner])
    if manager is None:
        return ()
    answers = await settle_in_parts(
        sources.client,
        [
            requests.logs(LogFilter(manager, topics, 0, head.number))
            for topics in ((TRANSFER, word), (TRANSFER, None, word))
        ],
    )
    if not all(isinstance(answer, tuple) for answer in answers):
        return ()
    told = in_chain_order([expect(answer, tuple) for answer in answers])
    named = partial(PositionRef, protocol.name)
    return tuple(_change(log, named) for log in told if int(log.topics[3], 16))


async def _listed_lives(sources: Sources, worth: WalletWorth) -> tuple[PositionLife, ...]:
    """Of those that are held; what was taken out of a range and waits counts as inside."""
    wallet = worth.overview.wallet
    listed = [each for each in wallet.positions if protocol_of(each.ref).lists_tokens]
    custody: list[CustodyChange] = []
    for name in dict.fromkeys(each.ref.protocol for each in listed):
        protocol = protocol_named(name)
        custody += await _custody_at_once(sources, protocol, wallet.owner, wallet.block)
    told_of = await read_past(sources, listed)
    lives = []
    for snapshot in listed:
        past = told_of[snapshot.ref]
        unsplit = isinstance(snapshot.withdrawn, Unknown)
        fees = NOTHING if unsplit else Amounts(snapshot.fees0, snapshot.fees1)
        changes = () if isinstance(past.changes, Unknown) else past.changes
        told = [change for change in custody if change.ref == snapshot.ref]
        lacks = sum(change.liquidity_delta for change in changes) != snapshot.liquidity or unsplit
        life = _life(wallet, snapshot.identity, past.booked, told, left_out=lacks or not told)
        inside = snapshot.inside.less(fees)
        held = replace(snapshot, **_named("amount", inside), **_named("fees", fees))
        lives.append(replace(life, held=held, left_out=lacks or not told))
    return tuple(lives)


def _named(name: str, amounts: Amounts) -> dict[str, int]:
    return {f"{name}0": amounts.amount0, f"{name}1": amounts.amount1}


async def _facts(
    sources: Sources,
    worth: WalletWorth,
    lives: tuple[PositionLife, ...],
    sent: Mapping[str, PaidTransaction],
    pools: Mapping[PoolId, PoolKey],
) -> WalletFacts:
    block, network = worth.overview.wallet.block, sources.network
    wrapped = () if network.wrapped_native is None else (network.wrapped_native,)
    in_pools = (address for key in pools.values() for address in (key.currency0, key.currency1))
    idle = (balance.token.address for balance in worth.idle)
    identities = [life.identity for life in lives]
    addresses = dict.fromkeys((NATIVE, *wrapped, *idle, *in_pools, *currencies(identities)))
    tokens = await tokens_at(sources, addresses, block.hash)
    moments = {transaction.block: transaction.time for transaction in sent.values()} | {
        change.place.block_number: change.timestamp for life in lives for change in life.changes
    }
    swapped = [transaction for transaction in sent.values() if transaction.swaps]
    moments = {transaction.block - 1: transaction.time for transaction in swapped} | moments
    prices = await read_past_prices(sources, block, moments, addresses, pools.values())
    return WalletFacts(
        network, worth.overview.wallet.owner, worth, lives, sent, pools, tokens, prices
    )


def _life(
    wallet: WalletPositions,
    identity: PositionIdentity,
    changes: Sequence[LiquidityChange],
    custody: Sequence[CustodyChange],
    *,
    left_out: bool,
) -> PositionLife:
    """Of a position that was another's for a while only what happened in the wallet's own time."""
    held = next((position for position in wallet.positions if position.identity == identity), None)
    liquidity = _burned(custody, identity.ref) if held is None else held.liquidity
    total = sum(change.liquidity_delta for change in changes)
    left_out |= liquidity is not None and (total != liquidity or not changes)
    given = any(
        NATIVE not in (transfer.sender, transfer.recipient)
        and transfer.sender != transfer.recipient
        for transfer in custody
    )
    if not given:
        return PositionLife(identity, tuple(changes), held, left_out=left_out)

    def mine(change: LiquidityChange) -> bool:
        place = change.place.block_number, change.place.log_index
        before = [
            transfer for transfer in custody if (transfer.block_number, transfer.log_index) <= place
        ]
        last = before[-1] if before else custody[0]
        owner, other = (last.recipient, last.sender) if before else (last.sender, last.recipient)
        # Who burns a position gets what is in it after it is gone.
        return wallet.owner == (other if owner == NATIVE else owner)

    return PositionLife(
        identity,
        tuple(change for change in changes if mine(change)),
        held,
        given=True,
        left_out=left_out,
    )


async def _identities(
    sources: Sources,
    wallet: WalletPositions,
    custody: Sequence[CustodyChange],
    moves: Iterable[PaidTransaction],
) -> tuple[tuple[PositionIdentity, ...], dict[PoolId, PoolKey]]:
    """Of every position the wallet ever had, burned ones by the logs of their transactions."""
    known = {position.ref: position.identity for position in _searched(wallet)}
    ever = dict.fromkeys((*known, *(transfer.ref for transfer in custody)))
    known |= sources.memory.identities(ref for ref in ever if ref not in known)
    manager = sources.network.contracts.position_manager
    ranges = {
        ref: change
        for move in moves
        for change in move.changes
        if change.sender == manager
        and (ref := v4_position(change.salt)) in ever
        and ref not in known
    }
    pools = {identity.pool_id: identity.pool_key for identity in known.values()}
    pools = await _pool_keys(sources, [span.pool_id for span in ranges.values()], pools)
    for ref, change in ranges.items():
        if key := pools.get(change.pool_id):
            known[ref] = identify(ref, key, change.tick_lower, change.tick_upper)
    sources.memory.remember(known.values())
    return tuple(known[ref] for ref in sorted(known)), pools


async def _pool_keys(
    sources: Sources, wanted: Iterable[PoolId], known: Mapping[PoolId, PoolKey]
) -> dict[PoolId, PoolKey]:
    """The PositionManager keeps the key of every pool it ever minted in."""
    missing = [pool_id for pool_id in dict.fromkeys(wanted) if pool_id not in known]
    manager = sources.network.contracts.position_manager
    prefixes = [bytes.fromhex(pool_id.removeprefix("0x")[:_POOL_ID_DIGITS]) for pool_id in missing]
    calls = [requests.call(manager, _POOL_KEYS + prefix.ljust(32, b"\0")) for prefix in prefixes]
    found = dict(known)
    for pool_id, answer in zip(missing, await settle_in_parts(sources.client, calls), strict=True):
        if isinstance(answer, bytes) and answer:
            key = PoolKey(*abi.decode(POOL_KEY_TYPES, answer))
            if key.pool_id == pool_id:
                found[pool_id] = key
    return found


def _swapped(sent: Iterable[PaidTransaction]) -> list[PoolId]:
    return [swap.pool_id for transaction in sent for swap in transaction.swaps]


def _gaps(facts: WalletFacts, custody: Sequence[CustodyChange]) -> Iterable[str]:
    if ids := [position_label(life.identity.ref) for life in facts.lives if life.left_out]:
        yield (
            f"The endpoint leaves logs out: the result of {', '.join(ids)} is unknown, and other"
            " transfers may be wrong."
        )
    known = {life.identity.ref for life in facts.lives}
    for ref in dict.fromkeys(transfer.ref for transfer in custody):
        if ref not in known:
            label = position_label(ref)
            yield f"The pool of {label} is unknown."
    for transaction in facts.transactions.values():
        for swap in transaction.swaps:
            if transaction.sender == facts.owner and swap.pool_id not in facts.pools:
                yield f"A swap of {transaction.hash} is in a pool whose tokens are unknown."
