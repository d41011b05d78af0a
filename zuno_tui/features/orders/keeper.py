"""Carries out standing orders: looks at each, waits until its condition has held, sends it once.

What is to be sent is written down before it is sent. After a crash the same bytes go out again; the
chain takes an order as often as it was signed for and no oftener, whoever else tries. What is
written down is tagged with the watch key: what anybody else writes there is not gone by.

Where another machine has the same key, the key has one transaction on its way at a time, with the
nonce of the block in which the order was seen unused: whatever the other one sent, one of the two
is refused before it costs anything.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from agents.monitor.heartbeat import Note, Troubled
from chain.base.errors import ZunoError
from chain.base.store import Store
from chain.base.units import DAY
from chain.contracts.abi import encode_call
from chain.contracts.addresses import checksum
from chain.contracts.delegation import DELEGATION_MANAGER
from chain.contracts.networks import NATIVE, Address, Network, all_networks
from chain.contracts.pool_key import PoolKey
from chain.contracts.signed_delegation import redeem, terms_in
from chain.execution.outbox.receipts import minted_positions
from chain.execution.plan.protocol import GasLimits
from chain.execution.transaction import UnsignedTransaction
from chain.math.price import format_amount
from chain.pools.depth import read_states
from chain.positions.overview import tokens_at
from chain.protocols.reference import position_name
from chain.protocols.snapshot import PositionSnapshot
from chain.protocols.v4.events import MODIFY_LIQUIDITY, modify_liquidity_event
from chain.read.block_reader import EventError, OneBlock
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError, SendRefusal, SendRefused, SendUnclear
from chain.rpc.records import Receipt
from chain.rpc.requests import Reader
from chain.standing_orders.book import KeptOrder, StandingOrders
from chain.standing_orders.call import (
    OrderCall,
    OrderRefusedError,
    call_in,
    call_of,
    gas_limits,
    subject_in,
)
from chain.standing_orders.kinds import TRAITS
from chain.standing_orders.order import (
    ClosedRange,
    EnteredRange,
    SentCall,
    StandingOrder,
    StandingProgress,
    StandingState,
)
from chain.standing_orders.seal import fault_of, is_signed
from chain.tokens.token import amount_text
from chain.wallet.errors import WalletError
from chain.wallet.watch_key import open_watch_signer, watch_key, watch_seal
from zuno_tui.app.session import Session, SettingsSource
from zuno_tui.features.orders.conditions import as_signed, find_lack
from zuno_tui.features.orders.sight import (
    LEAST_BLOCKS,
    Seen,
    has_held,
    hold_progress,
    reasons_against,
    why_over,
)
from zuno_tui.features.orders.turns import Turns
from zuno_tui.features.orders.witnesses import Witnesses, sentence
from zuno_tui.gate.agreement import Witness
from zuno_tui.gate.limits import gate_limits
from zuno_tui.settings import load_settings

LOOK_SECONDS, EMBEDDED_LOOK_SECONDS = 12.0, 1.0
_LONGEST_GAP, _LONGEST_EMBEDDED_GAP = 90, 1_800
"""Network seconds without a look after which a condition counts as not yet held; on the embedded
chain an hour may pass in a minute."""
_BUMP_SECONDS = 180.0
_BUMP = (9, 8)
_WITHDRAW_GAS = GasLimits(21_000, 500_000)
_PARENT_DATA = 4
"""How much more Arbitrum may want, which charges for data in gas."""
_AFTER_FAILURE = (5, 4)
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
        self._seals: dict[Address, bytes] = {}
        self._turns = Turns(chosen.home, tell, clock)
        self._stores: dict[int, dict[str, Store]] = {}
        """By chain and endpoint: what each told of the past."""
        self._told: set[str] = set()
        self._before: set[str] = set()

    async def run(self) -> None:
        """Until it is cancelled; a look that fails is told, and the next one comes."""
        try:
            while True:
                pause = LOOK_SECONDS
                try:
                    pause = await self.look()
                except Exception as error:
                    self._trouble(f"Orders could not be looked at: {sentence(error)}")
                await asyncio.sleep(pause)
        finally:
            await self._turns.close()

    async def look(self) -> float:
        """Every order that is not over for good once; how long to wait until the next look."""
        # What is told again and again is told once.
        self._before, self._told = self._told, set()
        kept = self._book.all()
        if not kept:
            self._book.forget_low_keys()
            return LOOK_SECONDS
        chosen = self._chosen
        settings = load_settings(chosen.home.settings, chosen.environment, chosen.flags)
        own = settings.chosen_network()
        by_chain = {network.chain_id: network for network in (*all_networks(), own)}
        looks = []
        with self._book.turn() as ours:
            for chain_id in dict.fromkeys(kept_order.order.chain_id for kept_order in kept):
                network = by_chain.get(chain_id)
                if not ours or network is None or not settings.endpoints_for(network):
                    continue
                if all(self._is_past(kept_order.order, network) for kept_order in kept):
                    continue
                session = Session(chosen.home, settings, network, as_json=True, narrate=self._quiet)
                looks.append(self._look_on(session))
            embedded = await asyncio.gather(*looks)
        return EMBEDDED_LOOK_SECONDS if any(embedded) else LOOK_SECONDS

    def _is_past(self, order: StandingOrder, network: Network) -> bool:
        """Of another chain, or its date has passed long since by what was signed: no key is opened
        for that, and no file believed."""
        if order.chain_id != network.chain_id:
            return True
        terms = terms_in(order.delegation_signed.caveats)
        late = terms is not None and self._clock() > terms.before + 2 * DAY
        return late and network.clock == "wall" and is_signed(order)

    async def _look_on(self, session: Session) -> bool:
        """Whether the chain is embedded, whose time passes faster."""
        try:
            async with asyncio.timeout(_CHAIN_LIMIT):
                await self._look_at(session)
        except Exception as error:  # the other chains are looked at all the same
            self._trouble(f"Orders on {session.network.title}: {sentence(error)}")
        return session.network.clock == "head"

    async def _look_at(self, session: Session) -> None:
        chain_id = session.network.chain_id
        try:
            key = watch_key(session.home, session.network)
            if key is None:
                return
            if key.address not in self._seals:
                seal = await asyncio.to_thread(watch_seal, session.home, session.network)
                self._seals[key.address] = seal
        except WalletError as error:
            words = f"The watch key cannot be opened, so no order is carried out: {error}"
            self._book.note_low_key(chain_id, words)
            self._trouble(words)
            return
        book = StandingOrders(session.home.orders, self._seals[key.address])
        # The others are of other machines.
        mine = [
            kept
            for kept in book.all()
            if kept.order.chain_id == chain_id
            and kept.order.delegation_signed.delegate == key.address
            and not kept.is_final
        ]
        if not mine:
            self._book.note_low_key(chain_id, "")
            return
        if self._book.is_stopped:
            await self._turns.close()
            behind = True
        else:
            behind = await self._turns.is_behind(self._seals[key.address])
        async with session.sources() as sources, session.connections(sources) as connections:
            stores = self._stores.setdefault(chain_id, {})
            witnesses = Witnesses(sources, connections, stores)
            turns = self._turns if behind else None
            shared = self._turns.is_shared
            work = OrderWork(book, session, witnesses, self._clock, behind=turns, shared=shared)
            # Side by side: an order that hangs takes no time from another one's condition.
            await asyncio.gather(
                self._look_at_key(session.network, witnesses, key.address, _gas(mine, session)),
                *(self._do(book, work, kept) for kept in mine),
            )
        for words in sorted(witnesses.odd):
            self._trouble(f"Orders on {session.network.title}: {words}")

    async def _do(self, book: StandingOrders, work: OrderWork, kept: KeptOrder) -> None:
        if self._book.is_stopped:
            return
        number = kept.order.number
        if not kept.vouched:
            self._trouble(
                f"Order {number}: what {number}.progress.json says was not written with this watch "
                "key. The chain is asked again."
            )
        try:
            async with asyncio.timeout(_LOOK_LIMIT):
                await work.do(kept)
        except Exception as error:  # the other orders are looked at all the same
            reason = sentence(error)
            if kept.stands:
                book.note(number, lambda before: replace(before, reason=reason))
            self._trouble(f"Order {number}: {reason}")

    async def _look_at_key(
        self, network: Network, witnesses: Witnesses, key: Address, gas: int
    ) -> None:
        """Whether it could pay for one order now."""
        try:
            async with asyncio.timeout(_LOOK_LIMIT):
                held = await witnesses.ask_all("the watch key's coin", requests.balance(key))
                fees = await witnesses.fees()
        except (ZunoError, TimeoutError):
            return
        needed = gas * fees.price.cap
        words = (
            f"The watch key {checksum(key)} has {format_amount(held, 18, 3)} "
            f"{network.native_symbol}, and an order may take {format_amount(needed, 18, 3)}. Until "
            "it has more, no order is carried out."
        )
        self._book.note_low_key(network.chain_id, words if held < needed else "")

    def _trouble(self, words: str) -> None:
        if words not in self._told | self._before:
            self._tell(Troubled(words))
        self._told.add(words)

    def _quiet(self, _words: str) -> None:
        """A look has nobody to narrate to."""


_BY_FILE = "Its progress file says that it was sent; the chain has not used it yet."


class OrderWork:
    """One look at one order."""

    def __init__(
        self,
        book: StandingOrders,
        session: Session,
        witnesses: Witnesses,
        clock: Callable[[], float] = time.time,
        *,
        behind: Turns | None = None,
        shared: bool = False,
    ) -> None:
        """`behind` tells how long an order is left to another machine; None where it is not."""
        self._behind = behind
        self._shared = shared
        self._book = book
        self._session = session
        self._sources = witnesses.sources
        self._witnesses = witnesses
        self._clock = clock
        self._network: Network = session.network
        self._sending = asyncio.Lock()
        """One at a time: what is sent next takes the nonce after it."""

    async def do(self, kept: KeptOrder) -> None:
        order, call = kept.order, call_in(kept.order, self._network)
        if not is_signed(order):
            raise OrderRefusedError(fault_of(order, call))
        seen = await self._witnesses.sights(order, call)
        if self._was_taken_back(kept, call, seen):
            return
        match kept.progress.state:
            case StandingState.DONE:
                return
            case StandingState.ENDED:
                async with self._sending:
                    await self._withdraw(kept, seen)
                return
            case StandingState.SENT:
                await self._follow(kept, call, seen)
                return
            case StandingState.WAITING:
                pass
        if self._ended(kept, call, seen) or self._done_elsewhere(kept, seen):
            return
        if seen.agrees(lambda sight: sight.delegate != self._network.contracts.delegate):
            raise OrderRefusedError("The account is not delegated now: zuno wallet delegate")
        signed = as_signed(order, call, seen, self._witnesses)
        lack = await find_lack(signed, call, kept.progress, seen=seen, witnesses=self._witnesses)
        longest = _LONGEST_GAP if self._network.clock == "wall" else _LONGEST_EMBEDDED_GAP
        progress = self._note(
            order, lambda before: hold_progress(before, seen.clock, lack=lack, longest_gap=longest)
        )
        due, behind = has_held(signed, progress, seen.clock), self._behind
        if due and (behind is None or behind.is_overdue(order.number, seen)):
            async with self._sending:
                await self._send(kept, call, seen.before_use(kept.progress.done))
            return
        if behind is not None and not due:
            behind.is_not_due(order.number)
        if not due and progress.reason:
            self._note(order, lambda before: replace(before, reason=""))

    def _was_taken_back(self, kept: KeptOrder, call: OrderCall, seen: Seen) -> bool:
        """Whether a reorganisation undid what was written down as over; looked at until it is
        final. An endpoint that is behind what was seen then has no say."""
        order, progress = kept.order, kept.progress
        since = progress.settled_at
        if since is None:
            return False
        undone = seen.agrees(lambda sight: sight.time >= since and sight.used < progress.done)
        revived = progress.state is StandingState.ENDED and seen.agrees(
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
                reason="A chain reorganisation undid what was reported: the order stands again."
                if undone
                else "What had ended it is so no more: the order stands again.",
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
        """Whether another machine has carried it out; told once that lies deep enough."""
        if seen.agrees(lambda sight: sight.surely_used > kept.progress.done):
            self._finish(kept.order, call_in(kept.order, self._network), seen.clock.time)
            return True
        return seen.agrees(lambda sight: sight.used > kept.progress.done)

    async def looked_at(self, kept: KeptOrder) -> KeptOrder:
        """As it would be told now: nothing is sent, and nothing written down.

        What its file says of an end is nobody's word without the watch key: the chain tells.
        """
        call = call_in(kept.order, self._network)
        if not is_signed(kept.order):
            return kept
        seen = await self._witnesses.sights(kept.order, call)
        known = kept if kept.stands else kept.without_vouching
        after = self._after_end(known, call, seen)
        if after is not None:
            return KeptOrder(kept.order, after)
        match kept.progress.state:
            case StandingState.WAITING:
                return kept
            case StandingState.SENT:
                return KeptOrder(kept.order, replace(kept.progress, reason=_BY_FILE))
            case told:
                reason = f"Its progress file says {told.value}, and the chain does not."
                return KeptOrder(kept.order, StandingProgress(reason=reason))

    def _ended(self, kept: KeptOrder, call: OrderCall, seen: Seen) -> bool:
        after, seen_in = self._after_end(kept, call, seen), kept.progress.state
        if after is None:
            return False
        # Another process may know better by now.
        self._note(kept.order, lambda before: after if before.state is seen_in else before)
        return True

    def _after_end(self, kept: KeptOrder, call: OrderCall, seen: Seen) -> StandingProgress | None:
        """What is to be written down of an order that is over; None where it is not."""
        reason = why_over(kept.order, call, seen)
        if not reason:
            return None
        before = kept.progress
        done = seen.agrees(lambda sight: sight.surely_used > before.done)
        if not done and seen.agrees(lambda sight: sight.used > before.done):
            return None  # carried out, and not yet deep enough
        # What is only seen again was told when it happened.
        known = before.happened_at if not kept.vouched else None
        return replace(
            before,
            state=StandingState.DONE if done else StandingState.ENDED,
            reason="" if done and before.results else reason,
            met_at=None,
            done=call.times if done else before.done,
            happened_at=self._clock() if known is None else known,
            settled_at=seen.clock.time,
        )

    async def _send(self, kept: KeptOrder, call: OrderCall, seen: Seen) -> None:
        """Tried on every endpoint that is asked, written down, and only then sent."""
        order = kept.order
        if self._is_taken(order, call) or len(seen.sights) < seen.needed:
            return
        nonce = self._next_nonce(order, seen.key_nonce)
        if self._shared and nonce != seen.key_nonce:
            return
        data = redeem(order.delegation_signed, call_of(order.delegation_signed))
        tried = requests.call(DELEGATION_MANAGER, data, sender=order.delegation_signed.delegate)
        try:
            takes = await self._witnesses.each(
                lambda witness: witness.client.ask(tried), seen.witnesses
            )
        except OrderRefusedError as error:
            reason = f"The chain would refuse it now: {error}"
            self._note(order, lambda before: replace(before, reason=reason))
            return
        among = [answer.witness for answer in takes]
        limits = gas_limits(call)
        sent = await self._signed(kept, data, nonce, seen=seen, limits=limits, among=among)
        if sent is None or self._book.is_stopped:
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

    def _is_taken(self, order: StandingOrder, call: OrderCall) -> bool:
        """Whether another order on the position is on its way: after it this one may fit no
        more. A close waits for another close alone."""
        sent = [
            subject_in(other.order.delegation_signed)
            for other in self._book.of_position(order.chain_id, call.ref)
            if other.order.number != order.number and other.progress.state is StandingState.SENT
        ]
        return any(each and TRAITS[each[0]].takes >= call.traits.takes for each in sent)

    async def _signed(
        self,
        kept: KeptOrder,
        data: bytes,
        nonce: int,
        *,
        seen: Seen,
        limits: GasLimits,
        last: SentCall | None = None,
        among: Iterable[Witness] | None = None,
    ) -> SentCall | None:
        """None where the one before cannot be outbid within the limits."""
        key, withdraws = kept.order.delegation_signed.delegate, limits is _WITHDRAW_GAS
        to = key if withdraws else DELEGATION_MANAGER
        ask = self._witnesses
        estimate, fees, coin = await asyncio.gather(
            ask.gas(to, data, key, among),
            ask.fees(),
            ask.ask_all("the watch key's coin", requests.balance(key)),
        )
        gas = self._gas_limit(limits, estimate, 0 if withdraws else kept.progress.failed_gas)
        cap, tip = fees.price.cap, fees.price.priority_fee
        most = gate_limits(self._session.settings.limits, self._network).policy.max_fee_per_gas
        least = min(fees.least, most)
        if last is not None:
            # Nodes want both raised before they let one take another's place.
            more, of = _BUMP
            least = int(last.max_fee_per_gas) * more // of + 1
            cap = max(cap, least)
            tip = max(tip, int(last.tip) * more // of + 1)
            if nonce == last.nonce and max(least, tip) > most:
                return None
        # The cap has room for five full blocks; what the key can pay now is enough.
        limit = min(max(cap, tip), most, coin // gas)
        if limit < least:
            raise OrderRefusedError(
                "The watch key lacks coin for gas: zuno wallet watch-key says how much."
            )
        transaction = UnsignedTransaction(
            chain_id=self._network.chain_id,
            sender=key,
            to=to,
            value=0,
            data=data,
            gas=gas,
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
        paid = str(transaction.max_priority_fee_per_gas)
        at, raw = seen.clock.time, signed.raw.hex()
        return SentCall(signed.hash, raw, nonce, str(limit), at, paid, withdraws, gas)

    def _gas_limit(self, limits: GasLimits, estimate: int | None, failed: int) -> int:
        """Between what such a call was measured to take at least and at most; what failed is not
        tried again at the same limit."""
        most = limits.most * (_PARENT_DATA if self._network.stack == "arbitrum" else 1)
        if failed:
            if failed >= most:
                raise OrderRefusedError("It failed on chain at the largest gas limit zuno sets.")
            more, of = _AFTER_FAILURE
            estimate = max(estimate or most, failed * more // of)
        return min(max(estimate or most, limits.least), most)

    def _next_nonce(self, order: StandingOrder, counted: int) -> int:
        """Behind what other orders of the same key have on their way."""
        taken = (
            sent.nonce
            for other in self._book.all()
            if other.order.number != order.number
            and other.order.chain_id == order.chain_id
            and other.order.delegation_signed.delegate == order.delegation_signed.delegate
            for sent in other.progress.calls
        )
        return max((nonce + 1 for nonce in taken if nonce >= counted), default=counted)

    async def _broadcast(self, order: StandingOrder, sent: SentCall) -> None:
        """Who has it already says so; whether it was taken the next look tells."""
        route = self._witnesses.route
        clients = route.others or (route.endpoint,)
        refusals = await asyncio.gather(*(_refusal(client, sent) for client in clients))
        told = [refusal for refusal in refusals if refusal]
        if len(told) < min(self._witnesses.needed, len(clients)):
            return

        def change(before: StandingProgress) -> StandingProgress:
            calls = tuple(
                replace(call, taken=False) if call.hash == sent.hash else call
                for call in before.calls
            )
            reason = f"It is signed, and no endpoint took it: {told[0]}"
            return replace(before, calls=calls, reason=before.reason if sent.withdraws else reason)

        self._note(order, change)

    async def _follow(self, kept: KeptOrder, call: OrderCall, seen: Seen) -> None:
        """Whether it was carried out is what the chain counts, on enough endpoints; a receipt only
        says what came of it."""
        order, progress = kept.order, kept.progress
        clock = seen.clock
        found = await self._witnesses.receipt(progress.calls)
        if seen.agrees(lambda sight: sight.surely_used > progress.done):
            if found is None:
                self._finish(order, call, clock.time, reason="Another machine carried it out.")
                return
            client, receipt = found.witness.client, found.value
            self._finish(
                order,
                call,
                clock.time,
                received=await self._received(client, call, receipt),
                transaction=receipt.transaction_hash,
                closed=await self._closed(client, call, progress.closed, receipt),
                became=_became(call, receipt, self._network),
            )
        elif seen.agrees(lambda sight: sight.used > progress.done):
            return  # included, and not yet deep enough
        elif (
            found is not None
            and not found.value.succeeded
            and clock.block - found.value.block_number >= LEAST_BLOCKS
        ):
            failed = found.value.transaction_hash
            reason = f"{failed} was refused by the chain; zuno checks it again."
            gas = max(call.gas for call in progress.calls)
            self._note(
                order,
                lambda before: replace(
                    before,
                    state=StandingState.WAITING,
                    reason=reason,
                    met_at=None,
                    calls=(),
                    failed_gas=max(gas, before.failed_gas),
                ),
            )
        elif not self._ended(kept, call, seen):
            async with self._sending:
                await self._again(kept, call, seen)

    async def _again(self, kept: KeptOrder, call: OrderCall, seen: Seen) -> None:
        """The same bytes, or after a while the same call at a better price."""
        order, calls = kept.order, kept.progress.calls
        last = calls[-1]
        count = requests.transaction_count(order.delegation_signed.delegate)
        spent = await self._witnesses.ask_all("the watch key's nonce", count)
        if spent > last.nonce:
            # The nonce went to something else: nothing of this order is on its way.
            self._note(
                order,
                lambda before: replace(before, state=StandingState.WAITING, met_at=None, calls=()),
            )
            return
        signed = as_signed(order, call, seen, self._witnesses)
        lack = await find_lack(signed, call, kept.progress, seen=seen, witnesses=self._witnesses)
        if lack is not None:
            # What is on its way may still be included; nobody pushes it any more.
            reason = "It was sent while its condition held, and is not included yet."
            self._note(order, lambda before: replace(before, reason=reason))
            return
        gap = spent < last.nonce and self._next_nonce(order, spent) < last.nonce
        if gap or not last.taken or seen.clock.time - last.at > _BUMP_SECONDS:
            data = redeem(order.delegation_signed, call_of(order.delegation_signed))
            limits = gas_limits(call)
            nonce = min(self._next_nonce(order, spent), last.nonce)
            better = await self._signed(kept, data, nonce, seen=seen, limits=limits, last=last)
            if better is None:
                reason = "Gas costs more than limits.max_fee_gwei allows."
                self._note(order, lambda before: replace(before, reason=reason))
            else:
                last = better
                self._note(
                    order, lambda before: replace(before, reason="", calls=_behind(calls, better))
                )
        await self._broadcast(order, last)

    async def _withdraw(self, kept: KeptOrder, seen: Seen) -> None:
        """What is on its way for an order that has ended would fail and cost its gas, and keep
        later ones waiting: a transfer of nothing to the key itself takes its place."""
        order, calls = kept.order, kept.progress.calls
        if not calls:
            return
        last: SentCall | None = calls[-1]
        count = requests.transaction_count(order.delegation_signed.delegate)
        if await self._witnesses.ask_all("the watch key's nonce", count) > calls[-1].nonce:
            self._note(order, lambda before: replace(before, calls=()))
            return
        if not calls[-1].withdraws:
            last = await self._signed(
                kept, b"", calls[-1].nonce, seen=seen, limits=_WITHDRAW_GAS, last=calls[-1]
            )
            if last is not None:
                self._note(order, lambda before: replace(before, calls=_behind(calls, last)))
        if last is not None:
            await self._broadcast(order, last)

    async def _received(
        self, client: RpcClient, call: OrderCall, receipt: Receipt
    ) -> tuple[str, ...]:
        """What the owner's wallet holds more of since the block before."""
        tokens = await tokens_at(self._sources, call.currencies, "latest")
        at, owner = receipt.block_number, call.recipient
        found = []
        for currency in call.currencies:
            try:
                now, before = (
                    await _coins(client, currency, owner, at),
                    await _coins(client, currency, owner, at - 1),
                )
            except RpcError:
                return ()  # a node that has forgotten that block
            found.append(amount_text(max(0, now - before), tokens[currency]))
        return tuple(found)

    async def _closed(
        self, client: RpcClient, call: OrderCall, known: ClosedRange | None, receipt: Receipt
    ) -> ClosedRange | None:
        """The range with the price it was changed at; None where that is not known any more."""
        if known is None or call.kind == "collect":
            return None
        try:
            block = await client.ask(requests.block(receipt.block_number))
            here = OneBlock(client, self._network, receipt.block_hash)
            states = (await read_states(here, self._network, [known.key])).states
            known = _entered(known, call, receipt)
        except (RpcError, EventError):
            return None
        if block is None or not states:
            return None
        price = str(states[0].sqrt_price_x96)
        return replace(known, sqrt_price=price, time=block.timestamp)

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
        became: str | UnsetType = UNSET,
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
                became=became,
            )

        self._note(order, change)

    def _note(
        self, order: StandingOrder, change: Callable[[StandingProgress], StandingProgress]
    ) -> StandingProgress:
        return self._book.note(order.number, change)


def _gas(orders: Iterable[KeptOrder], session: Session) -> int:
    """What the most expensive of them may take."""
    found = [0]
    for kept in orders:
        with suppress(OrderRefusedError):
            found.append(gas_limits(call_in(kept.order, session.network)).most)
    return max(found)


def _final(before: StandingProgress) -> StandingProgress:
    stands = before.state in (StandingState.WAITING, StandingState.SENT)
    return replace(before, settled_at=None, calls=before.calls if stands else ())


def _entered(known: ClosedRange, call: OrderCall, receipt: Receipt) -> ClosedRange:
    """What the transaction took out of the position's range, and what it put into one."""
    if call.entry is None:
        return known
    changes = [
        modify_liquidity_event(log)
        for log in receipt.logs
        if log.topics[:2] == (MODIFY_LIQUIDITY, known.key.pool_id)
    ]
    taken = -sum(min(0, change.liquidity_delta) for change in changes)
    put = [change for change in changes if change.liquidity_delta > 0]
    if not put:
        return known
    given = str(sum(change.liquidity_delta for change in put))
    into = EnteredRange(put[0].tick_lower, put[0].tick_upper, given)
    return replace(known, liquidity=str(taken), entered=into)


def _became(call: OrderCall, receipt: Receipt, network: Network) -> str | UnsetType:
    """The position it is now, where that is another one."""
    minted = minted_positions(receipt, call.recipient, network)
    into = call.target or (minted[0] if minted else None)
    return UNSET if into is None else position_name(into)


def _behind(calls: Sequence[SentCall], newest: SentCall) -> tuple[SentCall, ...]:
    return (*(replace(call, raw="") for call in calls), newest)


def _range_of(position: PositionSnapshot) -> ClosedRange:
    ticks, key = position.identity, position.pool.key
    made_of = PoolKey(*key.values)
    return ClosedRange(
        made_of,
        ticks.tick_lower,
        ticks.tick_upper,
        str(position.liquidity),
        pool_id="" if made_of.pool_id == key.pool_id else key.pool_id,
    )


async def _coins(client: RpcClient, currency: Address, owner: Address, at: int) -> int:
    if currency == NATIVE:
        return await client.ask(requests.balance(owner, at))
    asked = encode_call("balanceOf(address)", owner)
    return int.from_bytes(await client.ask(requests.call(currency, asked, at)), "big")


async def _refusal(client: Reader, sent: SentCall) -> str:
    """Why it did not take it; empty where it did, or may have."""
    try:
        await client.ask(requests.send_raw(bytes.fromhex(sent.raw)))
    except SendRefused as error:
        return "" if error.reason is SendRefusal.ALREADY_KNOWN else error.sentence
    except SendUnclear:
        return ""
    except RpcError as error:
        return error.sentence
    return ""
