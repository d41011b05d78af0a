"""Carries out standing orders: looks at each, waits until its condition has held, sends it once.

What is to be sent is written down before it is sent. After a crash the same bytes go out again; the
chain takes an order as often as it was signed for and no oftener, whoever else tries.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec.structs import replace

from agents.monitor.heartbeat import Note, Troubled
from agents.monitor.rules.worth_risks import LossReader
from chain.base.clean_text import clean_text, quoted
from chain.base.errors import ZunoError, error_kind
from chain.base.units import Unknown
from chain.contracts.abi import encode_call
from chain.contracts.addresses import checksummed
from chain.contracts.delegation import DELEGATION_MANAGER
from chain.contracts.networks import NATIVE, Address, Network, all_networks
from chain.contracts.signed_delegation import redeem
from chain.execution.transaction import UnsignedTransaction
from chain.math.price import format_amount
from chain.pools.state import pool_state_slots, pool_states
from chain.positions.overview import Sources, tokens_at
from chain.positions.snapshot import PositionSnapshot
from chain.prices.ladder import market_prices, read_prices
from chain.read.block_reader import OneBlock, read_slots
from chain.read.gas import read_gas_price
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError
from chain.rpc.records import Receipt
from chain.standing_orders.book import KeptOrder, StandingOrders
from chain.standing_orders.call import OrderCall, OrderRefusedError, call_of, position_in, read_call
from chain.standing_orders.order import (
    ClosedRange,
    FeesOver,
    LossOver,
    OutOfRange,
    PricePast,
    SentCall,
    StandingOrder,
    StandingProgress,
    StandingState,
)
from chain.tokens.token import amount_text
from chain.wallet.watch_key import open_watch_signer, watch_key
from zuno_tui.app.session import Session
from zuno_tui.app.watch_key import ORDER_GAS
from zuno_tui.app.watchlist import SettingsSource
from zuno_tui.features.orders.sight import (
    LEAST_BLOCKS,
    OrderSight,
    Seen,
    has_held,
    held,
    read_sight,
    reasons_against,
    why_over,
)
from zuno_tui.gate.agreement import Connections
from zuno_tui.gate.limits import gate_limits
from zuno_tui.settings import load_settings

ENOUGH = 2
"""Endpoints that must tell the same, where that many are set."""
LOOK_SECONDS, EMBEDDED_LOOK_SECONDS = 12.0, 1.0
_LONGEST_GAP, _LONGEST_EMBEDDED_GAP = 90, 1_800
"""Network seconds without a look after which a condition counts as not yet held; on the embedded
chain an hour may pass in a minute."""
_BUMP_SECONDS = 180.0
_BUMP = (9, 8)
_GAS_MARGIN = (3, 2)
_MARKET_BIPS = 100
"""How far the market elsewhere may still be from a level that the pool has passed."""
_LOOK_LIMIT, _CHAIN_LIMIT = 40.0, 80.0
"""Seconds for all that one order's look takes, and for those of a chain with connecting to it. A
look that could not be made neither confirms a condition nor begins it anew; only a gap longer than
the one above does."""
FINAL_SECONDS = 1_800
"""Network seconds for which an end is looked at again: longer than Ethereum takes to be final."""


class OrderKeeper:
    def __init__(
        self,
        chosen: SettingsSource,
        tell: Callable[[Note], None],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._chosen = chosen
        self._tell = tell
        self._clock = clock
        self._book = StandingOrders(chosen.home.orders)
        self._told = ""

    async def run(self) -> None:
        """Until it is cancelled; a look that fails is told, and the next one comes."""
        while True:
            pause = LOOK_SECONDS
            try:
                pause = await self.look()
            except Exception as error:
                self._trouble(f"Orders could not be looked at: {_sentence(error)}")
            await asyncio.sleep(pause)

    async def look(self) -> float:
        """Every order that is not over for good once; how long to wait until the next look."""
        if all(kept.is_final for kept in self._book.all()):
            self._book.forget_low_keys()
            return LOOK_SECONDS
        chosen = self._chosen
        settings = load_settings(chosen.home.settings, chosen.environment, chosen.flags)
        own = settings.chosen_network()
        by_chain = {network.chain_id: network for network in (*all_networks(), own)}
        looks = []
        with self._book.turn() as ours:
            open_orders = [kept for kept in self._book.all() if ours and not kept.is_final]
            for chain_id in dict.fromkeys(kept.order.chain_id for kept in open_orders):
                network = by_chain.get(chain_id)
                if network is None or not settings.endpoints_for(network):
                    continue
                session = Session(chosen.home, settings, network, as_json=True, narrate=self._quiet)
                mine = [kept for kept in open_orders if kept.order.chain_id == chain_id]
                looks.append(self._look_on(session, mine))
            embedded = await asyncio.gather(*looks)
        return EMBEDDED_LOOK_SECONDS if any(embedded) else LOOK_SECONDS

    async def _look_on(self, session: Session, kept: Sequence[KeptOrder]) -> bool:
        """Whether the chain is embedded, whose time passes faster."""
        try:
            async with asyncio.timeout(_CHAIN_LIMIT):
                await self._look_at(session, kept)
        except Exception as error:  # the other chains are looked at all the same
            self._trouble(f"Orders on {session.network.title}: {_sentence(error)}")
        return session.network.clock == "head"

    async def _look_at(self, session: Session, kept: Sequence[KeptOrder]) -> None:
        key = watch_key(session.home, session.network)
        # The others are of other machines.
        mine = [
            kept_order
            for kept_order in kept
            if key and kept_order.order.signed.delegate == key.address
        ]
        if key is None or not mine:
            return
        async with session.sources() as sources, session.connections(sources) as connections:
            work = OrderWork(self._book, session, sources, connections, self._clock)
            # Side by side: an order that hangs takes no time from another one's condition.
            await asyncio.gather(
                self._look_at_key(sources, key.address), *(self._do(work, kept) for kept in mine)
            )

    async def _do(self, work: OrderWork, kept: KeptOrder) -> None:
        if self._book.stopped:
            return
        try:
            async with asyncio.timeout(_LOOK_LIMIT):
                await work.do(kept)
        except Exception as error:  # the other orders are looked at all the same
            self._note_trouble(kept, _sentence(error))

    async def _look_at_key(self, sources: Sources, key: Address) -> None:
        """Whether it could pay for one order now."""
        try:
            async with asyncio.timeout(_LOOK_LIMIT):
                held = await sources.client.ask(requests.balance(key))
                price = await read_gas_price(sources.client)
        except (RpcError, TimeoutError):
            return
        if isinstance(price, Unknown):
            return
        needed = ORDER_GAS * price.value.cap
        coin = sources.network.native_symbol
        words = (
            f"The watch key {checksummed(key)} has {format_amount(held, 18, 3)} {coin}, and an "
            f"order may take {format_amount(needed, 18, 3)}."
        )
        self._book.note_low_key(sources.network.chain_id, words if held < needed else "")

    def _note_trouble(self, kept: KeptOrder, reason: str) -> None:
        number = kept.order.number
        if kept.stands:
            self._book.note(number, lambda before: replace(before, reason=reason))
        self._trouble(f"Order {number}: {reason}")

    def _trouble(self, sentence: str) -> None:
        if sentence != self._told:
            self._told = sentence
            self._tell(Troubled(sentence))

    def _quiet(self, _words: str) -> None:
        """A look has nobody to narrate to."""


class OrderWork:
    """One look at one order."""

    def __init__(
        self,
        book: StandingOrders,
        session: Session,
        sources: Sources,
        connections: Connections,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._book = book
        self._session = session
        self._sources = sources
        self._connections = connections
        self._losses = LossReader(sources, sources.memory)
        self._clock = clock
        self._network: Network = session.network
        self._sending = asyncio.Lock()
        """One at a time: what is sent next takes the nonce after it."""

    async def do(self, kept: KeptOrder) -> None:
        order, call = kept.order, read_call(kept.order.signed, self._network)
        seen = await self._look(order, call)
        if self._was_taken_back(kept, call, seen):
            return
        match kept.progress.state:
            case StandingState.DONE:
                return
            case StandingState.ENDED:
                async with self._sending:
                    await self._withdraw(kept)
                return
            case StandingState.SENT:
                await self._follow(kept, call, seen)
                return
            case StandingState.WAITING:
                pass
        if self._ended(kept, call, seen) or self._done_elsewhere(kept, seen):
            return
        if seen.agreed(lambda sight: sight.delegate != self._network.contracts.delegate):
            raise OrderRefusedError("The account is not delegated now: zuno wallet delegate")
        met = await self._is_met(order, kept.progress, seen)
        longest = _LONGEST_GAP if self._network.clock == "wall" else _LONGEST_EMBEDDED_GAP
        progress = self._note(
            order, lambda before: held(before, seen.clock, met=met, longest_gap=longest)
        )
        if has_held(order, progress, seen.clock):
            async with self._sending:
                await self._send(kept, seen)
        elif progress.reason:
            self._note(order, lambda before: replace(before, reason=""))

    def _was_taken_back(self, kept: KeptOrder, call: OrderCall, seen: Seen) -> bool:
        """Whether a reorganisation undid what was written down as over; looked at until it is
        final. An endpoint that is behind what was seen then has no say."""
        order, progress = kept.order, kept.progress
        since = progress.settled_at
        if since is None:
            return False
        undone = seen.agreed(lambda sight: sight.time >= since and sight.used < progress.done)
        revived = progress.state is StandingState.ENDED and seen.agreed(
            lambda sight: sight.time >= since and not any(reasons_against(order, call, sight))
        )
        if not undone and not revived:
            if seen.clock.time - since > FINAL_SECONDS:
                self._note(order, _final)
            return False

        def change(before: StandingProgress) -> StandingProgress:
            sent = bool(before.calls) and not before.calls[-1].withdraws
            return replace(
                before,
                state=StandingState.SENT if sent else StandingState.WAITING,
                reason="A chain reorganisation undid what was reported: the order stands again.",
                calls=before.calls if sent else (),
                met_at=None,
                done=before.done - undone,
                last_done=None if undone else before.last_done,
                received=() if undone else before.received,
                results=before.results[:-1] if undone else before.results,
                happened_at=None,
                settled_at=None,
            )

        self._note(order, change)
        return True

    def _done_elsewhere(self, kept: KeptOrder, seen: Seen) -> bool:
        """Of several times one that another machine has carried out."""
        if not seen.agreed(lambda sight: sight.surely_used > kept.progress.done):
            return False
        self._finish(kept.order, read_call(kept.order.signed, self._network), seen.clock.time)
        return True

    async def end_if_over(self, kept: KeptOrder) -> None:
        """Only looked at: nothing is sent."""
        call = read_call(kept.order.signed, self._network)
        seen = await self._look(kept.order, call)
        taken_back = self._was_taken_back(kept, call, seen)
        if kept.progress.state is StandingState.WAITING and not taken_back:
            self._ended(kept, call, seen)

    def _ended(self, kept: KeptOrder, call: OrderCall, seen: Seen) -> bool:
        reason = why_over(kept.order, call, seen)
        if not reason:
            return False
        done = seen.agreed(lambda sight: sight.surely_used > kept.progress.done)
        seen_in = kept.progress.state

        def change(before: StandingProgress) -> StandingProgress:
            if before.state is not seen_in:
                return before  # another process knows better by now
            return replace(
                before,
                state=StandingState.DONE if done else StandingState.ENDED,
                reason=reason,
                met_at=None,
                done=call.times if done else before.done,
                happened_at=self._clock(),
                settled_at=seen.clock.time,
            )

        self._note(kept.order, change)
        return True

    async def _look(self, order: StandingOrder, call: OrderCall) -> Seen:
        """Refused where too few endpoints answer."""
        witnesses = self._connections.witnesses
        readers = [witness.client for witness in witnesses] or [self._sources.client]
        told = await asyncio.gather(
            *(self._sight(reader, order, call) for reader in readers), return_exceptions=True
        )
        sights = tuple(sight for sight in told if isinstance(sight, OrderSight))
        needed = min(ENOUGH, len(readers))
        if len(sights) < needed:
            failed = next(sight for sight in told if isinstance(sight, BaseException))
            raise OrderRefusedError(
                f"Only {len(sights)} of {len(readers)} endpoints answer, and {needed} must: "
                f"{_sentence(failed)}"
            )
        return Seen(sights, needed)

    async def _sight(self, client: RpcClient, order: StandingOrder, call: OrderCall) -> OrderSight:
        async with asyncio.timeout(self._connections.witness_seconds):
            return await read_sight(client, self._network, call.ref, order.signed)

    async def _is_met(self, order: StandingOrder, progress: StandingProgress, seen: Seen) -> bool:
        condition = order.condition
        match condition:
            case PricePast():
                here = seen.agreed(
                    lambda sight: (
                        sight.position is not None
                        and condition.is_met(sight.position.pool.sqrt_price_x96)
                    )
                )
                return here and await self._market_agrees(condition, seen)
            case OutOfRange():
                return seen.agreed(lambda sight: sight.out_of_range)
            case LossOver(bips):
                return await self._lost(seen, bips)
            case FeesOver(micro_usd, seconds):
                last = progress.last_done
                if last is not None and seen.clock.time - last < seconds:
                    return False
                return await self._fees_over(seen, micro_usd)

    async def _market_agrees(self, condition: PricePast, seen: Seen) -> bool:
        """Whether the market elsewhere is past the level, or about there; nobody else is asked."""
        if not seen.positions or self._sources.coingecko is None:
            return True
        position = seen.positions[0]
        key = position.pool.key
        pair = (key.currency0, key.currency1)
        prices = await market_prices(self._sources.coingecko, self._network, pair)
        price0, price1 = prices.get(pair[0]), prices.get(pair[1])
        tokens = await tokens_at(self._sources, pair, position.block.hash)
        decimals = tokens[pair[0]].decimals, tokens[pair[1]].decimals
        if (
            price0 is None
            or price1 is None
            or isinstance(price0, Unknown)
            or isinstance(price1, Unknown)
            or decimals[0] is None
            or decimals[1] is None
            or not price1.value
        ):
            return True
        # Units of currency1 for one of currency0, as the pool counts.
        market = price0.value / price1.value * 10 ** decimals[1] / 10 ** decimals[0]
        level = int(condition.sqrt_price) ** 2 / (1 << 192)
        margin = 1 + _MARKET_BIPS / 10_000
        return (
            float(market) <= level * margin if condition.falls else float(market) >= level / margin
        )

    async def _lost(self, seen: Seen, bips: int) -> bool:
        """By each endpoint's own price and fees; what went in is read once."""
        over = 0
        for position in seen.positions:
            losses = await self._losses.read([position], seen.clock.time)
            if position.ref in losses.unknown:
                raise OrderRefusedError(losses.unknown[position.ref])
            over += losses.shares[position.ref] * 10_000 > bips
        return over >= seen.needed

    async def _fees_over(self, seen: Seen, micro_usd: int) -> bool:
        if not seen.positions:
            return False
        position = seen.positions[0]
        key = position.pool.key
        pair = (key.currency0, key.currency1)
        prices = await read_prices(
            self._sources.client, self._network, pair, coingecko=self._sources.coingecko
        )
        tokens = await tokens_at(self._sources, pair, position.block.hash)
        over = 0
        for snapshot in seen.positions:
            worth = 0.0
            for currency, amount in zip(pair, (snapshot.fees0, snapshot.fees1), strict=True):
                value = prices.value(tokens[currency], amount)
                if isinstance(value, Unknown):
                    raise OrderRefusedError(f"The fees have no price now: {value.reason}.")
                worth += float(value.value)
            over += worth * 1e6 > micro_usd
        return over >= seen.needed

    async def _send(self, kept: KeptOrder, seen: Seen) -> None:
        """Tried on every endpoint that is asked, written down, and only then sent."""
        order = kept.order
        data = redeem(order.signed, call_of(order.signed))
        key = order.signed.delegate
        clients = [witness.client for witness in self._connections.witnesses] or [
            self._sources.client
        ]
        tried = requests.call(DELEGATION_MANAGER, data, sender=key)
        outcomes = await asyncio.gather(
            *(client.ask(tried) for client in clients), return_exceptions=True
        )
        failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if len(outcomes) - len(failures) < seen.needed:
            reason = f"The chain would refuse it now: {_sentence(failures[0])}"
            self._note(order, lambda before: replace(before, reason=reason))
            return
        sent = await self._signed(order, data, None)
        if sent is None or self._book.stopped:
            return
        closed = _range_of(seen.positions[0])

        def change(before: StandingProgress) -> StandingProgress:
            if before.state is not StandingState.WAITING:
                return before
            return replace(
                before, state=StandingState.SENT, reason="", calls=(sent,), closed=closed
            )

        if sent in self._note(order, change).calls:
            await self._broadcast(order, sent)

    async def _signed(
        self, order: StandingOrder, data: bytes, last: SentCall | None, *, withdraws: bool = False
    ) -> SentCall | None:
        """None where the one before cannot be outbid within the limits."""
        client, key = self._sources.client, order.signed.delegate
        to = key if withdraws else DELEGATION_MANAGER
        gas = await client.ask(requests.estimate_gas(to, data, sender=key))
        price = await read_gas_price(client)
        if isinstance(price, Unknown):
            raise OrderRefusedError(f"Gas has no price now: {price.reason}.")
        nonce = self._next_nonce(order, await client.ask(requests.transaction_count(key)))
        cap, tip = price.value.cap, price.value.priority_fee
        most = gate_limits(self._session.settings.limits, self._network).policy.max_fee_per_gas
        if last is not None:
            # Nodes want both raised before they let one take another's place.
            more, of = _BUMP
            nonce = last.nonce if withdraws else min(nonce, last.nonce)
            cap = max(cap, int(last.max_fee_per_gas) * more // of + 1)
            tip = max(tip, int(last.tip) * more // of + 1)
            if nonce == last.nonce and max(cap, tip) > most:
                return None
        limit = min(max(cap, tip), most)
        more, of = _GAS_MARGIN
        held = await client.ask(requests.balance(key))
        if held < gas * more // of * limit:
            raise OrderRefusedError(
                "The watch key lacks coin for gas: zuno wallet watch-key says how much."
            )
        transaction = UnsignedTransaction(
            chain_id=self._network.chain_id,
            sender=key,
            to=to,
            value=0,
            data=data,
            gas=gas * more // of,
            max_fee_per_gas=limit,
            max_priority_fee_per_gas=min(tip, limit),
            nonce=nonce,
            step="order",
        )
        signer = open_watch_signer(self._session.home, self._network)
        try:
            signed = signer.sign(transaction)
        finally:
            signer.close()
        now = float((await client.head()).timestamp)
        tip = transaction.max_priority_fee_per_gas
        raw = signed.raw.hex()
        return SentCall(signed.hash, raw, nonce, str(limit), now, str(tip), withdraws)

    def _next_nonce(self, order: StandingOrder, counted: int) -> int:
        """Behind what other orders of the same key have on their way."""
        taken = (
            sent.nonce
            for other in self._book.all()
            if other.order.number != order.number
            and other.order.chain_id == order.chain_id
            and other.order.signed.delegate == order.signed.delegate
            for sent in other.progress.calls
        )
        return max((nonce + 1 for nonce in taken if nonce >= counted), default=counted)

    async def _broadcast(self, order: StandingOrder, sent: SentCall) -> None:
        """Who has it already says so; whether it was taken the next look tells."""
        route = self._connections.route
        refusals = []
        for client in (route.endpoint, *route.others):
            try:
                await client.ask(requests.send_raw(bytes.fromhex(sent.raw)))
            except RpcError as error:
                refusals.append(error.sentence)
        if len(refusals) == 1 + len(route.others) and not sent.withdraws:
            reason = f"It is signed, and no endpoint took it: {refusals[0]}"
            self._note(order, lambda before: replace(before, reason=reason))

    async def _follow(self, kept: KeptOrder, call: OrderCall, seen: Seen) -> None:
        """Whether it was carried out is what the chain counts, on enough endpoints; a receipt only
        says what came of it."""
        order, progress = kept.order, kept.progress
        clock = seen.clock
        receipt = await self._receipt(progress.calls)
        if seen.agreed(lambda sight: sight.surely_used > progress.done):
            if receipt is None:
                self._finish(order, call, clock.time, reason="Another machine carried it out.")
                return
            self._finish(
                order,
                call,
                clock.time,
                received=await self._received(call, receipt),
                transaction=receipt.transaction_hash,
                closed=await self._closed(call, progress.closed, receipt),
            )
        elif seen.agreed(lambda sight: sight.used > progress.done):
            return  # included, and not yet deep enough
        elif (
            receipt is not None
            and not receipt.succeeded
            and clock.block - receipt.block_number >= LEAST_BLOCKS
        ):
            reason = f"{receipt.transaction_hash} was refused by the chain; zuno checks it again."
            self._note(
                order,
                lambda before: replace(
                    before, state=StandingState.WAITING, reason=reason, met_at=None, calls=()
                ),
            )
        elif not self._ended(kept, call, seen):
            async with self._sending:
                await self._again(kept, seen)

    async def _again(self, kept: KeptOrder, seen: Seen) -> None:
        """The same bytes, or after a while the same call at a better price."""
        order, calls = kept.order, kept.progress.calls
        last = calls[-1]
        spent = await self._sources.client.ask(requests.transaction_count(order.signed.delegate))
        if spent > last.nonce:
            # The nonce went to something else: nothing of this order is on its way.
            self._note(
                order,
                lambda before: replace(before, state=StandingState.WAITING, met_at=None, calls=()),
            )
            return
        if not await self._is_met(order, kept.progress, seen):
            # What is on its way may still be included; nobody pushes it any more.
            reason = "It was sent while its condition held, and is not included yet."
            self._note(order, lambda before: replace(before, reason=reason))
            return
        gap = spent < last.nonce and self._next_nonce(order, spent) < last.nonce
        if gap or seen.clock.time - last.at > _BUMP_SECONDS:
            data = redeem(order.signed, call_of(order.signed))
            better = await self._signed(order, data, last)
            if better is None:
                reason = "Gas costs more than limits.max_fee_gwei allows."
                self._note(order, lambda before: replace(before, reason=reason))
            else:
                last = better
                self._note(order, lambda before: replace(before, calls=_behind(calls, better)))
        await self._broadcast(order, last)

    async def _withdraw(self, kept: KeptOrder) -> None:
        """What is on its way for an order that has ended would fail and cost its gas, and keep
        later ones waiting: a transfer of nothing to the key itself takes its place."""
        order, calls = kept.order, kept.progress.calls
        if not calls:
            return
        last: SentCall | None = calls[-1]
        client = self._sources.client
        spent = await client.ask(requests.transaction_count(order.signed.delegate))
        if spent > calls[-1].nonce:
            self._note(order, lambda before: replace(before, calls=()))
            return
        if not calls[-1].withdraws:
            last = await self._signed(order, b"", calls[-1], withdraws=True)
            if last is not None:
                self._note(order, lambda before: replace(before, calls=_behind(calls, last)))
        if last is not None:
            await self._broadcast(order, last)

    async def _receipt(self, calls: Sequence[SentCall]) -> Receipt | None:
        for sent in reversed(calls):
            found = await self._sources.client.ask(requests.receipt(sent.hash))
            if found is not None:
                return found
        return None

    async def _received(self, call: OrderCall, receipt: Receipt) -> tuple[str, ...]:
        """What the owner's wallet holds more of since the block before."""
        tokens = await tokens_at(self._sources, call.currencies, "latest")
        at, owner = receipt.block_number, call.recipient
        found = []
        for currency in call.currencies:
            try:
                now, before = (
                    await self._held(currency, owner, at),
                    await self._held(currency, owner, at - 1),
                )
            except RpcError:
                return ()  # a node that has forgotten that block
            found.append(amount_text(max(0, now - before), tokens[currency]))
        return tuple(found)

    async def _closed(
        self, call: OrderCall, known: ClosedRange | None, receipt: Receipt
    ) -> ClosedRange | None:
        """The range with the price it was closed at; None where that is not known any more."""
        if known is None or call.kind != "close":
            return None
        try:
            block = await self._sources.client.ask(requests.block(receipt.block_number))
            here = OneBlock(self._sources.client, self._network, receipt.block_hash)
            slots = pool_state_slots([known.pool])
            words = (await read_slots(here, self._network, slots)).words
        except RpcError:
            return None
        states = pool_states([known.pool], words)
        if block is None or not states:
            return None
        return replace(known, sqrt_price=str(states[0].sqrt_price_x96), time=block.timestamp)

    async def _held(self, currency: Address, owner: Address, at: int) -> int:
        client = self._sources.client
        if currency == NATIVE:
            return await client.ask(requests.balance(owner, at))
        asked = encode_call("balanceOf(address)", owner)
        return int.from_bytes(await client.ask(requests.call(currency, asked, at)), "big")

    def _finish(
        self,
        order: StandingOrder,
        call: OrderCall,
        at: float,
        *,
        reason: str = "",
        received: tuple[str, ...] = (),
        transaction: str = "",
        closed: ClosedRange | None = None,
    ) -> None:
        def change(before: StandingProgress) -> StandingProgress:
            done = before.done + 1
            last = done >= call.times
            return replace(
                before,
                state=StandingState.DONE if last else StandingState.WAITING,
                reason=reason,
                done=done,
                last_done=float(at),
                met_at=None,
                # Should a reorganisation take it back, the same call goes out again.
                calls=before.calls if last else (),
                received=received,
                results=(*before.results, *((transaction,) if transaction else ())),
                happened_at=self._clock(),
                settled_at=at,
                closed=closed,
            )

        self._note(order, change)
        if order.partner is not None and call.kind == "close":
            words = f"Order {order.number} closed the position."

            def end(before: StandingProgress) -> StandingProgress:
                if before.state is not StandingState.WAITING:
                    return before
                ended, now = StandingState.ENDED, self._clock()
                return replace(
                    before, state=ended, reason=words, met_at=None, happened_at=now, settled_at=at
                )

            with suppress(ZunoError):
                other = self._book.find(order.partner).order
                if (other.chain_id, position_in(other.signed)) == (order.chain_id, call.ref):
                    self._book.note(order.partner, end)

    def _note(
        self, order: StandingOrder, change: Callable[[StandingProgress], StandingProgress]
    ) -> StandingProgress:
        return self._book.note(order.number, change)


def _final(before: StandingProgress) -> StandingProgress:
    stands = before.state in (StandingState.WAITING, StandingState.SENT)
    return replace(before, settled_at=None, calls=before.calls if stands else ())


def _behind(calls: Sequence[SentCall], newest: SentCall) -> tuple[SentCall, ...]:
    return (*(replace(call, raw="") for call in calls), newest)


def _range_of(position: PositionSnapshot) -> ClosedRange:
    ticks = position.identity
    return ClosedRange(
        position.pool.key, ticks.tick_lower, ticks.tick_upper, str(position.liquidity)
    )


def _sentence(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer came in time."
    words = error.sentence if isinstance(error, RpcError) else str(error)
    return quoted(clean_text(words)) if words else error_kind(error)
