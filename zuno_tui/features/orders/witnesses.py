"""What an order is sent by rests on several endpoints: each is asked by itself, two must agree.

With a single endpoint its word counts alone, and the page that signs says so.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from chain.base.clean_text import clean_text, quote_words
from chain.base.errors import error_kind
from chain.base.store import Store
from chain.base.units import GWEI, Unknown
from chain.contracts.networks import Address
from chain.positions.overview import Sources
from chain.read.gas import GasPrice, read_gas_price
from chain.rpc import requests
from chain.rpc.errors import RpcError
from chain.rpc.records import Receipt
from chain.rpc.requests import Request
from chain.standing_orders.call import OrderCall, OrderRefusedError
from chain.standing_orders.order import SentCall, StandingOrder
from zuno_tui.features.orders.sight import OrderSight, Seen, read_sight
from zuno_tui.gate.agreement import ENOUGH, Connections, Witness

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)

_GRACE_SECONDS = 3.0
"""How long the others are waited for once enough have answered: one that hangs stops nothing."""
_FAR_SECONDS = 300
_FAR_FEES = 4
"""From when on an endpoint's clock or fees are told as odd; by then nothing rests on them."""
_GAS_MARGIN = (5, 4)


class WitnessAnswer(NamedTuple, Generic[T]):
    witness: Witness
    value: T


class FeeReading(NamedTuple):
    price: GasPrice
    least: int
    """What a unit of gas costs at least, by whoever tells the lowest base fee."""


class Witnesses:
    """The endpoints of one chain for one look; who hangs once is not waited for again."""

    def __init__(
        self, sources: Sources, connections: Connections, stores: dict[str, Store] | None = None
    ) -> None:
        """`stores` outlive a look: what each endpoint told of the past, apart from the others."""
        self.all = connections.witnesses or (Witness(connections.host, sources.client),)
        self.needed = min(ENOUGH, len(self.all))
        self.odd: set[str] = set()
        """Sentences: who failed, or stood against the others."""
        self.sources, self.route = sources, connections.route
        self._seconds = connections.witness_seconds
        self._stores = {} if stores is None else stores
        self._silent: set[str] = set()

    def sources_of(self, witness: Witness) -> Sources:
        """Nothing that another endpoint told answers for this one."""
        if len(self.all) == 1:
            return self.sources
        store = self._stores.setdefault(witness.host, Store.in_memory())
        return replace(self.sources, client=witness.client, store=store)

    async def each(
        self, read: Callable[[Witness], Awaitable[T]], among: Iterable[Witness] | None = None
    ) -> tuple[WitnessAnswer[T], ...]:
        """What those tell who can; refused where too few do."""
        asked = [
            witness
            for witness in (self.all if among is None else among)
            if witness.host not in self._silent
        ]
        tasks = [asyncio.ensure_future(read(witness)) for witness in asked]
        try:
            await self._wait(tasks)
        finally:
            for task in tasks:
                task.cancel()
        answers, failures = [], []
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        for witness, outcome in zip(asked, outcomes, strict=True):
            if isinstance(outcome, asyncio.CancelledError):
                self._silent.add(witness.host)
                failures.append(f"{witness.host}: no answer came in time.")
            elif isinstance(outcome, BaseException):
                failures.append(f"{witness.host}: {sentence(outcome)}")
            else:
                answers.append(WitnessAnswer(witness, outcome))
        self.odd.update(failures)
        if len(answers) < self.needed:
            raise OrderRefusedError(
                f"Only {len(answers)} of {len(self.all)} endpoints answer, and {self.needed} must: "
                f"{' '.join(failures)}".strip()
            )
        return tuple(answers)

    async def _wait(self, tasks: Sequence[asyncio.Future[T]]) -> None:
        loop = asyncio.get_running_loop()
        until, pending, enough = loop.time() + self._seconds, set(tasks), False
        while pending and (left := until - loop.time()) > 0:
            _, pending = await asyncio.wait(
                pending, timeout=left, return_when=asyncio.FIRST_COMPLETED
            )
            good = [task for task in tasks if task.done() and task.exception() is None]
            if len(good) >= self.needed and not enough:
                until, enough = min(until, loop.time() + _GRACE_SECONDS), True

    async def ask_all(self, what: str, request: Request[H]) -> H:
        """What enough of them tell; refused where they do not agree."""
        return self.common(what, await self._ask(request))

    async def _ask(self, request: Request[T]) -> tuple[WitnessAnswer[T], ...]:
        return await self.each(lambda witness: witness.client.ask(request))

    def common(self, what: str, answers: Sequence[WitnessAnswer[H]]) -> H:
        [(value, count)] = Counter(answer.value for answer in answers).most_common(1)
        differ = [answer.witness.host for answer in answers if answer.value != value]
        if count < self.needed:
            raise OrderRefusedError(f"Endpoints disagree on {what}: {', '.join(differ)} differs.")
        self.odd.update(f"{host} disagrees with the others on {what}." for host in differ)
        return value

    async def sights(self, order: StandingOrder, call: OrderCall) -> Seen:
        network, signed = self.sources.network, order.delegation_signed
        answers = await self.each(lambda witness: read_sight(witness.client, network, call, signed))
        seen = Seen(
            tuple(answer.value for answer in answers),
            self.needed,
            tuple(answer.witness for answer in answers),
        )
        self._tell_odd_sights(seen)
        return seen

    def _tell_odd_sights(self, seen: Seen) -> None:
        told = dict(zip((witness.host for witness in seen.witnesses), seen.sights, strict=True))
        for host, sight in told.items():
            if abs(sight.time - seen.clock.time) > _FAR_SECONDS:
                self.odd.add(f"The newest block of {host} is far from the others' in time.")
            same = [other for other in told.values() if other.head.number == sight.head.number]
            alike = sum(_facts(other) == _facts(sight) for other in same)
            if alike < len(same) and alike * 2 <= len(same):
                self.odd.add(f"{host} disagrees with the others on the position or its order.")

    async def fees(self) -> FeeReading:
        """The base fee in the middle, of two the higher: it is only the most that may be paid. The
        tip in the middle, of two the lower: it is paid."""
        answers = await self.each(lambda witness: read_gas_price(witness.client))
        prices: list[tuple[str, GasPrice]] = []
        for witness, told in answers:
            if isinstance(told, Unknown):
                raise OrderRefusedError(f"Gas has no price now: {told.reason}.")
            prices.append((witness.host, told.value))
        bases = sorted(price.base_fee or 0 for _, price in prices)
        tips = sorted(price.priority_fee for _, price in prices)
        base, tip = bases[len(bases) // 2], tips[(len(tips) - 1) // 2]
        for host, price in prices:
            if _far(price.base_fee or 0, base, 1) or _far(price.priority_fee, tip, GWEI):
                self.odd.add(f"{host} tells other fees than the others.")
        return FeeReading(GasPrice(base, tip), bases[0] + tip)

    async def gas(
        self, to: Address, data: bytes, sender: Address, among: Iterable[Witness] | None
    ) -> int | None:
        """With a margin: the middle of what those estimate among whom the call succeeds, of two the
        larger; None where nobody can tell."""
        request = requests.estimate_gas(to, data, sender=sender)
        asked = tuple(self.all if among is None else among)

        async def estimate(witness: Witness) -> int | None:
            try:
                return await witness.client.ask(request)
            except RpcError as error:
                self.odd.add(f"{witness.host}: {error.sentence}")
                return None

        told = sorted(
            answer.value for answer in await self.each(estimate, asked) if answer.value is not None
        )
        more, of = _GAS_MARGIN
        return told[len(told) // 2] * more // of if told else None

    async def receipt(self, calls: Sequence[SentCall]) -> WitnessAnswer[Receipt] | None:
        """The newest that enough of them tell alike, and one who does."""
        for sent in reversed(calls):
            answers = await self._ask(requests.receipt(sent.hash))
            agreed = self.common(
                "a receipt", [WitnessAnswer(witness, _outcome(found)) for witness, found in answers]
            )
            for witness, found in answers:
                if found is not None and _outcome(found) == agreed:
                    return WitnessAnswer(witness, found)
        return None


def _far(told: int, taken: int, least: int) -> bool:
    return max(told, taken) > _FAR_FEES * max(min(told, taken), least)


def _outcome(receipt: Receipt | None) -> tuple[str, str, bool] | None:
    if receipt is None:
        return None
    return receipt.transaction_hash, receipt.block_hash, receipt.succeeded


def _facts(sight: OrderSight) -> tuple[object, ...]:
    at = sight.position
    position = at and (at.owner, at.liquidity, at.pool.sqrt_price_x96, at.fees0, at.fees1)
    order = sight.delegate, sight.nonce, sight.disabled, sight.used, sight.surely_used
    return (sight.head.hash, position, sight.hook_code, *order, sight.key_nonce)


def sentence(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer came in time."
    if isinstance(error, OrderRefusedError):
        return str(error)
    words = error.sentence if isinstance(error, RpcError) else str(error)
    return quote_words(clean_text(words)) if words else error_kind(error)
