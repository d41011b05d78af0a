"""Carries out standing orders: looks at each, waits until its condition has held, sends it once.

What is to be sent is written down before it is sent. After a crash the same bytes go out again; the
chain takes an order as often as it was signed for and no oftener, whoever else tries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from agents.monitor.heartbeat import Note, Troubled
from agents.monitor.rules.worth_risks import LossReader
from chain.base.clean_text import clean_text, quoted
from chain.base.errors import ZunoError
from chain.base.quantity import Unknown
from chain.contracts.abi import encode_call
from chain.contracts.addresses import checksummed
from chain.contracts.delegation import DELEGATION_MANAGER
from chain.contracts.networks import NATIVE, all_networks
from chain.contracts.signed_delegation import redeem
from chain.execution.transaction import UnsignedTransaction
from chain.math.price import format_amount
from chain.positions.overview import Sources, tokens_at
from chain.prices.ladder import market_prices, read_prices
from chain.read.gas import read_gas_price
from chain.rpc import requests
from chain.rpc.errors import RpcError
from chain.standing_orders.book import KeptOrder, StandingOrders
from chain.standing_orders.call import OrderCall, OrderRefusedError, call_of, read_call, token_in
from chain.standing_orders.order import (
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
from zuno_tui.features.orders.sight import LEAST_BLOCKS, OrderSight, read_sight
from zuno_tui.gate.limits import gate_limits
from zuno_tui.settings import load_settings

if TYPE_CHECKING:
    from chain.contracts.networks import Address, Network
    from chain.positions.snapshot import PositionSnapshot
    from chain.rpc.client import RpcClient
    from chain.rpc.records import Receipt
    from zuno_tui.app.watchlist import SettingsSource
    from zuno_tui.gate.agreement import Connections

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


class SeenClock(NamedTuple):
    time: float
    block: int


class Seen(NamedTuple):
    """What those endpoints say who could be asked."""

    sights: tuple[OrderSight, ...]
    needed: int

    def agreed(self, says: Callable[[OrderSight], bool]) -> bool:
        return sum(map(says, self.sights)) >= self.needed

    @property
    def clock(self) -> SeenClock:
        """The second latest where there are several: one endpoint cannot set the clock."""
        return SeenClock(
            float(sorted(sight.head.timestamp for sight in self.sights)[-self.needed]),
            sorted(sight.head.number for sight in self.sights)[-self.needed],
        )

    @property
    def positions(self) -> tuple[PositionSnapshot, ...]:
        """As each endpoint tells it."""
        return tuple(one.position for one in self.sights if one.position is not None)


class OrderKeeper:
    def __init__(self, chosen: SettingsSource, tell: Callable[[Note], None]) -> None:
        self._chosen = chosen
        self._tell = tell
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
        """Every standing order once; how long to wait until the next look."""
        by_chain = {network.chain_id: network for network in all_networks()}
        if not any(kept.stands for kept in self._book.all()):
            self._book.forget_low_keys()
            return LOOK_SECONDS
        chosen = self._chosen
        settings = load_settings(chosen.home.settings, chosen.environment, chosen.flags)
        own = settings.chosen_network()
        by_chain[own.chain_id] = own
        pauses = [LOOK_SECONDS]
        with self._book.turn() as ours:
            standing = [kept for kept in self._book.all() if kept.stands]
            for chain_id in dict.fromkeys(kept.order.chain_id for kept in standing) if ours else ():
                network = by_chain.get(chain_id)
                if network is None or not settings.endpoints_for(network):
                    continue
                session = Session(chosen.home, settings, network, as_json=True, narrate=self._quiet)
                mine = [kept for kept in standing if kept.order.chain_id == chain_id]
                try:
                    await self._look_at(session, mine)
                except Exception as error:  # the other chains are looked at all the same
                    self._trouble(f"Orders on {network.title}: {_sentence(error)}")
                if network.clock == "head":
                    pauses.append(EMBEDDED_LOOK_SECONDS)
        return min(pauses)

    async def _look_at(self, session: Session, standing: Sequence[KeptOrder]) -> None:
        key = watch_key(session.home, session.network)
        # The others are of other machines.
        mine = [one for one in standing if key and one.order.signed.delegate == key.address]
        if key is None or not mine:
            return
        async with session.sources() as sources, session.connections(sources) as connections:
            with suppress(RpcError):
                await self._look_at_key(sources, key.address)
            losses = LossReader(sources, sources.memory)
            work = OrderWork(self._book, session, sources, connections, losses)
            for kept in mine:
                if self._book.stopped:
                    return
                try:
                    await work.do(kept)
                except Exception as error:  # the other orders are looked at all the same
                    self._note_trouble(kept.order, _sentence(error))

    async def _look_at_key(self, sources: Sources, key: Address) -> None:
        """Whether it could pay for one order now."""
        held = await sources.client.ask(requests.balance(key))
        price = await read_gas_price(sources.client)
        if isinstance(price, Unknown):
            return
        needed = ORDER_GAS * price.value.cap
        coin = sources.network.native_symbol
        words = (
            f"The watch key {checksummed(key)} has {format_amount(held, 18, 3)} {coin}, and an "
            f"order may take {format_amount(needed, 18, 3)}."
        )
        self._book.note_low_key(sources.network.chain_id, words if held < needed else "")

    def _note_trouble(self, order: StandingOrder, reason: str) -> None:
        self._book.note(order.number, lambda before: replace(before, reason=reason))
        self._trouble(f"Order {order.number}: {reason}")

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
        losses: LossReader,
    ) -> None:
        self._book = book
        self._session = session
        self._sources = sources
        self._connections = connections
        self._losses = losses
        self._network: Network = session.network

    async def do(self, kept: KeptOrder) -> None:
        order, call = kept.order, read_call(kept.order.signed, self._network)
        seen = await self._seen(order, call)
        if kept.progress.state is StandingState.SENT:
            await self._follow(kept, call, seen)
            return
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
            await self._send(kept, seen)

    def _done_elsewhere(self, kept: KeptOrder, seen: Seen) -> bool:
        """Of several times one that another machine has carried out."""
        if not seen.agreed(lambda sight: sight.surely_used > kept.progress.done):
            return False
        at = seen.clock.time
        self._note(kept.order, lambda before: replace(before, done=before.done + 1, last_done=at))
        return True

    async def end_if_over(self, kept: KeptOrder) -> None:
        """Only looked at: nothing is sent."""
        call = read_call(kept.order.signed, self._network)
        seen = await self._seen(kept.order, call)
        if kept.progress.state is StandingState.WAITING:
            self._ended(kept, call, seen)

    def _ended(self, kept: KeptOrder, call: OrderCall, seen: Seen) -> bool:
        reason = _over(kept.order, call, seen)
        if not reason:
            return False
        done = seen.agreed(lambda sight: sight.surely_used > kept.progress.done)
        state = StandingState.DONE if done else StandingState.ENDED
        seen_in = kept.progress.state

        def change(before: StandingProgress) -> StandingProgress:
            # Another process may know better by now.
            changed = replace(before, state=state, reason=reason, calls=())
            return changed if before.state is seen_in else before

        self._note(kept.order, change)
        return True

    async def _seen(self, order: StandingOrder, call: OrderCall) -> Seen:
        """Refused where too few endpoints answer."""
        witnesses = self._connections.witnesses
        readers = [one.client for one in witnesses] or [self._sources.client]
        told = await asyncio.gather(
            *(self._sight(reader, order, call) for reader in readers), return_exceptions=True
        )
        sights = tuple(one for one in told if isinstance(one, OrderSight))
        needed = min(ENOUGH, len(readers))
        if len(sights) < needed:
            failed = next(one for one in told if isinstance(one, BaseException))
            raise OrderRefusedError(
                f"Only {len(sights)} of {len(readers)} endpoints answer, and {needed} must: "
                f"{_sentence(failed)}"
            )
        return Seen(sights, needed)

    async def _sight(self, client: RpcClient, order: StandingOrder, call: OrderCall) -> OrderSight:
        async with asyncio.timeout(self._connections.witness_seconds):
            return await read_sight(client, self._network, call.token_id, order.signed)

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
            if position.token_id in losses.unknown:
                raise OrderRefusedError(losses.unknown[position.token_id])
            over += losses.shares[position.token_id] * 10_000 > bips
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
        for one in seen.positions:
            worth = 0.0
            for currency, amount in zip(pair, (one.fees0, one.fees1), strict=True):
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
        clients = [one.client for one in self._connections.witnesses] or [self._sources.client]
        tried = requests.call(DELEGATION_MANAGER, data, sender=key)
        outcomes = await asyncio.gather(
            *(client.ask(tried) for client in clients), return_exceptions=True
        )
        failures = [one for one in outcomes if isinstance(one, BaseException)]
        if len(outcomes) - len(failures) < seen.needed:
            reason = f"The chain would refuse it now: {_sentence(failures[0])}"
            self._note(order, lambda before: replace(before, reason=reason))
            return
        sent = await self._signed(order, data, None)
        if sent is None or self._book.stopped:
            return

        def change(before: StandingProgress) -> StandingProgress:
            if before.state is not StandingState.WAITING:
                return before
            return replace(before, state=StandingState.SENT, reason="", calls=(sent,))

        if sent in self._note(order, change).calls:
            await self._broadcast(order, sent)

    async def _signed(
        self,
        order: StandingOrder,
        data: bytes,
        last: SentCall | None,
    ) -> SentCall | None:
        """None where the one before cannot be outbid within the limits."""
        client, key = self._sources.client, order.signed.delegate
        gas = await client.ask(requests.estimate_gas(DELEGATION_MANAGER, data, sender=key))
        price = await read_gas_price(client)
        if isinstance(price, Unknown):
            raise OrderRefusedError(f"Gas has no price now: {price.reason}.")
        nonce = self._next_nonce(order, await client.ask(requests.transaction_count(key)))
        cap, tip = price.value.cap, price.value.priority_fee
        most = gate_limits(self._session.settings.limits, self._network).policy.max_fee_per_gas
        if last is not None:
            # Nodes want both raised before they let one take another's place.
            more, of = _BUMP
            nonce = min(nonce, last.nonce)
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
            to=DELEGATION_MANAGER,
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
        return SentCall(
            signed.hash,
            signed.raw.hex(),
            nonce,
            str(limit),
            now,
            str(transaction.max_priority_fee_per_gas),
        )

    def _next_nonce(self, order: StandingOrder, counted: int) -> int:
        """Behind what other orders of the same key have on their way."""
        taken = [
            sent.nonce
            for other in self._book.standing(order.chain_id)
            if other.order.number != order.number
            and other.order.signed.delegate == order.signed.delegate
            for sent in other.progress.calls
        ]
        return max(counted, *(nonce + 1 for nonce in taken)) if taken else counted

    async def _broadcast(self, order: StandingOrder, sent: SentCall) -> None:
        """Who has it already says so; whether it was taken the next look tells."""
        route = self._connections.route
        refusals = []
        for client in (route.endpoint, *route.others):
            try:
                await client.ask(requests.send_raw(bytes.fromhex(sent.raw)))
            except RpcError as error:
                refusals.append(error.sentence)
        if len(refusals) == 1 + len(route.others):
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
            received = await self._received(call, receipt)
            self._finish(
                order,
                call,
                clock.time,
                received=received,
                transaction=receipt.transaction_hash,
            )
        elif seen.agreed(lambda sight: sight.used > progress.done):
            return  # included, and not yet deep enough
        elif (
            receipt is not None
            and not receipt.succeeded
            and clock.block - receipt.block_number >= LEAST_BLOCKS
        ):
            reason = f"{receipt.transaction_hash} was refused by the chain; it is looked at again."
            self._note(
                order,
                lambda before: replace(
                    before, state=StandingState.WAITING, reason=reason, met_at=None, calls=()
                ),
            )
        elif not self._ended(kept, call, seen):
            await self._again(kept, seen)

    async def _again(self, kept: KeptOrder, seen: Seen) -> None:
        """The same bytes, or after a while the same call at a better price."""
        order, calls = kept.order, kept.progress.calls
        last = calls[-1]
        spent = await self._sources.client.ask(requests.transaction_count(order.signed.delegate))
        if spent > last.nonce:
            # The nonce went to something else: nothing of this order is on its way.
            self._note(order, lambda before: replace(before, state=StandingState.WAITING, calls=()))
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
                reason = "Gas costs more than limits.max_fee_gwei lets go."
                self._note(order, lambda before: replace(before, reason=reason))
            else:
                last = better
                older = tuple(replace(one, raw="") for one in calls)
                self._note(order, lambda before: replace(before, calls=(*older, better)))
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
    ) -> None:
        def change(before: StandingProgress) -> StandingProgress:
            done = before.done + 1
            return replace(
                before,
                state=StandingState.DONE if done >= call.times else StandingState.WAITING,
                reason=reason,
                done=done,
                last_done=float(at),
                met_at=None,
                calls=(),
                received=received,
                results=(*before.results, *((transaction,) if transaction else ())),
            )

        self._note(order, change)
        if order.partner is not None and call.kind == "close":
            words = f"Order {order.number} closed the position."

            def end(before: StandingProgress) -> StandingProgress:
                if before.state is not StandingState.WAITING:
                    return before
                return replace(before, state=StandingState.ENDED, reason=words)

            with suppress(ZunoError):
                other = self._book.find(order.partner).order
                if (other.chain_id, token_in(other.signed)) == (order.chain_id, call.token_id):
                    self._book.note(order.partner, end)

    def _note(
        self, order: StandingOrder, change: Callable[[StandingProgress], StandingProgress]
    ) -> StandingProgress:
        return self._book.note(order.number, change)


def held(
    before: StandingProgress, now: SeenClock, *, met: bool, longest_gap: float
) -> StandingProgress:
    """Since when the condition holds, as of this look; a long time unseen begins anew."""
    time, block = now
    gap = before.looked_at is None or time - before.looked_at > longest_gap
    back = block < before.met_block
    if not met:
        return replace(before, met_at=None, met_block=0, looked_at=time, reason="")
    if before.met_at is None or gap or back:
        return replace(before, met_at=time, met_block=block, looked_at=time, reason="")
    return replace(before, looked_at=time, reason="")


def has_held(order: StandingOrder, progress: StandingProgress, now: SeenClock) -> bool:
    """For as long as the order asks, and for some blocks."""
    if progress.met_at is None:
        return False
    asked = order.condition.seconds if isinstance(order.condition, OutOfRange) else 0
    lasted = now.time - progress.met_at
    return (
        lasted >= max(order.hold_seconds, asked) and now.block - progress.met_block >= LEAST_BLOCKS
    )


def _over(order: StandingOrder, call: OrderCall, seen: Seen) -> str:
    """Why an order can never be carried out again, where enough endpoints say so."""
    reasons: Mapping[str, Callable[[OrderSight], bool]] = {
        "It was carried out by another machine.": lambda sight: sight.surely_used >= call.times,
        "Its date has passed.": lambda sight: sight.head.timestamp >= call.until,
        "It was cancelled.": lambda sight: sight.disabled,
        "It was cancelled with all others.": lambda sight: sight.nonce != call.nonce,
        f"Position #{call.token_id} is closed.": lambda sight: sight.position is None,
        f"Position #{call.token_id} has another owner.": lambda sight: (
            sight.position is not None and sight.position.owner != call.recipient
        ),
        "The position was made larger or smaller since: sign a new order, and cancel this one.": (
            lambda sight: _changed(order, call, sight.position)
        ),
        "The pool's hook has other code since.": lambda sight: (
            sight.position is not None and sight.hook_code != order.hook_code
        ),
    }
    return next((why for why, says in reasons.items() if seen.agreed(says)), "")


def _changed(order: StandingOrder, call: OrderCall, position: PositionSnapshot | None) -> bool:
    return (
        call.kind == "close" and position is not None and str(position.liquidity) != order.liquidity
    )


def _sentence(error: BaseException) -> str:
    words = error.sentence if isinstance(error, RpcError) else str(error)
    return quoted(clean_text(words)) if words else type(error).__name__
