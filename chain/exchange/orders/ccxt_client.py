"""Exchanges through ccxt (extra `trade`): loaded when one is opened, asked within bounds."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from chain.base.clean_text import quote_words
from chain.base.errors import Failure, ZunoError, error_kind
from chain.exchange.orders.order import OrderProgress, OrderState, VenueOrder
from chain.exchange.orders.venue import OrderUnansweredError, TellsOfOrders, Venue, VenueKeys
from chain.exchange.public.market import VenueAnswer, VenueReading
from chain.prices.market_http import MOST_BAN_SECONDS, MarketError, let_rest, refuse_resting

# The package's own start loads every exchange it knows, which takes seconds; here it is entered
# beside that, and only the exchange that is asked for is loaded.
_PACKAGES = ("ccxt", "ccxt.async_support", "ccxt.pro")
RECEIVE_MILLISECONDS = 5_000
"""After this a venue refuses a request that was on its way for so long."""
TIMEOUT_MILLISECONDS = 10_000


class VenuePackageError(ZunoError):
    """What speaks with exchanges is not installed."""

    failure = Failure.REFUSED


def open_client(
    exchange: str,
    keys: VenueKeys | None = None,
    *,
    base_url: str | None = None,
    socket_url: str | None = None,
    options: Mapping[str, object] | None = None,
    streams: bool = False,
) -> Any:  # noqa: ANN401 - ccxt's classes have no types
    """An exchange of this id, at another address where one is given; the caller closes it."""
    _prepare()
    kind = _class_of("async_support", exchange)
    if streams:
        kind = _class_of("pro", exchange)
    secrets = {} if keys is None else {"apiKey": keys.key, "secret": keys.secret}
    client = kind(
        {
            **secrets,
            "enableRateLimit": not _is_here(base_url),
            "timeout": TIMEOUT_MILLISECONDS,
            # An order is never sent a second time by itself.
            "options": {
                "maxRetriesOnFailure": 0,
                "recvWindow": RECEIVE_MILLISECONDS,
                **(options or {}),
            },
        }
    )
    client.has["fetchCurrencies"] = False
    if base_url is not None:
        socket_url = socket_url or base_url.replace("http", "ws", 1)
        bases = base_url.rstrip("/"), socket_url.rstrip("/")
        client.urls["api"] = _rebased(client.urls["api"], *bases)
    _respect_bans(client)
    return client


def _respect_bans(client: Any) -> None:  # noqa: ANN401 - ccxt's classes have no types
    """No request to a server that asked to be left alone, whichever client it asked."""
    fetch, answered = client.fetch, client.on_rest_response

    async def fetch_when_let_in(url: str, *given: object, **named: object) -> object:
        refuse_resting(client.name, url, time.time())
        return await fetch(url, *given, **named)

    def note(status: int, reason: str, url: str, method: str, headers: Any, *more: Any) -> object:  # noqa: ANN401
        asked = headers.get("Retry-After") or headers.get("retry-after")
        let_rest(url, status, asked, time.time(), MOST_BAN_SECONDS)
        return answered(status, reason, url, method, headers, *more)

    client.fetch, client.on_rest_response = fetch_when_let_in, note


def _class_of(package: str, exchange: str) -> Any:  # noqa: ANN401 - ccxt's classes have no types
    """Found where the packages' own start would have put it, with those it is made of."""
    found = importlib.import_module(f"ccxt.{package}.{exchange}")
    rest = sys.modules["ccxt.async_support"]
    for name, module in tuple(vars(rest).items()):
        setattr(rest, name, getattr(module, name, module))
    return getattr(found, exchange)


def address_of(private_key: str) -> str:
    """The address that a key signs for."""
    _prepare()
    exchange = importlib.import_module("ccxt.base.exchange").Exchange
    return str(exchange.eth_get_address_from_private_key(private_key)).lower()


def _is_here(base_url: str | None) -> bool:
    """This machine's own servers are asked as fast as they answer."""
    return base_url is not None and urlsplit(base_url).hostname in ("127.0.0.1", "localhost")


def ccxt_errors() -> ModuleType:
    """The errors that clients raise."""
    _prepare()
    return importlib.import_module("ccxt.base.errors")


def _prepare() -> None:
    if importlib.util.find_spec("ccxt") is None:
        raise VenuePackageError(
            "Trading on an exchange needs the package ccxt. Install it: pip install zuno-tui[trade]"
        )
    if "ccxt" in sys.modules:
        return
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.submodule_search_locations is None:
            raise VenuePackageError(f"The package ccxt is damaged: {name} is missing. Install it.")
        module = ModuleType(name)
        module.__path__ = list(spec.submodule_search_locations)
        module.__spec__ = spec
        sys.modules[name] = module
    ccxt = sys.modules["ccxt"]
    vars(ccxt)["async_support"] = sys.modules["ccxt.async_support"]
    errors = importlib.import_module("ccxt.base.errors")
    vars(ccxt).update({name: member for name, member in vars(errors).items() if name[0] != "_"})
    vars(ccxt)["Exchange"] = importlib.import_module("ccxt.base.exchange").Exchange


def _rebased(urls: object, base_url: str, socket_url: str) -> object:
    """The same paths on another host."""
    if isinstance(urls, dict):
        return {name: _rebased(url, base_url, socket_url) for name, url in urls.items()}
    parts = urlsplit(str(urls))
    return f"{socket_url if parts.scheme.startswith('ws') else base_url}{parts.path}"


# Whatever a venue leaves unsaid about an order is asked for by the order's name; what it refuses
# ends in one sentence without anything of a request.
_LOOKS = 3
"""How often an order is asked for that was sent and not answered."""
BETWEEN_LOOKS = 0.5
_REASONS = {
    "DDoSProtection": "the venue was asked too often and refuses requests for a while",
    "RateLimitExceeded": "the venue was asked too often",
    "InvalidNonce": "this machine's clock is off",
    "InsufficientFunds": "margin is insufficient",
    "AuthenticationError": "the keys are refused",
}


class NotThereError(Exception):
    """The venue knows no order of this name."""


class CcxtAsking:
    def __init__(
        self,
        name: str,
        client: Any,  # noqa: ANN401 - ccxt's classes have no types
        between_looks: float,
        *,
        tells_why: Callable[[str], bool] | None = None,
        sentences: Mapping[str, str] | None = None,
    ) -> None:
        """`name` is the venue's, as people know it.

        `tells_why` judges the words of errors that ccxt has no kind for: whether they refuse.
        `sentences` say what a code or a phrase of the venue means.
        """
        self._name = name
        self._tells_why = tells_why
        self._sentences = sentences or {}
        self._client = client
        self._between_looks = between_looks
        self._errors = ccxt_errors()

    async def read(
        self, ask: Callable[..., Awaitable[Any]], parameters: dict[str, Any] | None = None
    ) -> Any:  # noqa: ANN401 - checked field by field by whoever reads it
        """What may be asked twice: it is, where the clock was wrong."""
        given = () if parameters is None else (parameters,)
        try:
            return await self._with_clock(lambda: ask(*given))
        except self._errors.OrderNotFound:
            raise NotThereError from None
        except self._errors.BaseError as error:
            raise MarketError(f"{self._name} answers {self._sentence(error)}") from None

    async def send(
        self,
        order: VenueOrder,
        place: Callable[[], Awaitable[object]],
        find: Callable[[VenueOrder], Awaitable[OrderProgress | None]],
        now: Callable[[], Awaitable[float]],
    ) -> OrderProgress:
        """Placed once; the same name twice is one order. Raises where nobody can tell."""
        try:
            # Refused on arrival because of the clock: set by the venue's, it may come again.
            await self._with_clock(place)
        except self._errors.BaseError as error:
            if self._is_unsaid(error):
                return await self._after_silence(order, find, error)
            # A name that is known already is this order; whoever is shut out does not ask again.
            told = self._errors.DDoSProtection, self._errors.RateLimitExceeded
            if isinstance(error, told):
                return refused_order(order, self._sentence(error), time.time())
            known = await _looked(find, order)
            return known or refused_order(order, self._sentence(error), await now())
        found = await _looked(find, order)
        return found or await self._after_silence(order, find, None)

    async def _with_clock(self, ask: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401
        try:
            return await ask()
        except self._errors.InvalidNonce:
            await self._client.load_time_difference()
            return await ask()

    async def _after_silence(
        self,
        order: VenueOrder,
        find: Callable[[VenueOrder], Awaitable[OrderProgress | None]],
        error: Exception | None,
    ) -> OrderProgress:
        """The venue may have it or not: it is asked for by its name, and never sent again."""
        for _ in range(_LOOKS):
            await asyncio.sleep(self._between_looks)
            known = await _looked(find, order)
            if known is not None:
                return known
        why = "" if error is None else f" ({self._sentence(error)})"
        raise OrderUnansweredError(
            f"{self._name} did not say whether it has order {order.client_id}{why}. "
            "It is not sent again; see what became of it: zuno trade status"
        )

    def _is_unsaid(self, error: Exception) -> bool:
        """Whether the order may have been taken all the same."""
        errors = self._errors
        told = (errors.DDoSProtection, errors.RateLimitExceeded, errors.InvalidNonce)
        unsaid = (errors.OperationFailed, errors.BadResponse)
        if self._tells_why is not None and type(error) is errors.ExchangeError:
            return not self._tells_why(str(error))
        return isinstance(error, unsaid) and not isinstance(error, told)

    def _sentence(self, error: Exception) -> str:
        """Why, and what the venue said: quoted, short and without anything of a request."""
        words = str(error).removeprefix(f"{self._client.id} ").partition("signature=")[0]
        said = quote_words(_message(words)) or "without a reason"
        for phrase, sentence in self._sentences.items():
            if phrase in words:
                return f"{sentence} ({said})"
        for kind, sentence in _REASONS.items():
            if isinstance(error, getattr(self._errors, kind)):
                return f"{sentence} ({said})"
        return said


def _message(words: str) -> str:
    """What a venue says in the middle of its JSON, else all of it."""
    try:
        told = msgspec.json.decode(words[words.index("{") :])
    except (ValueError, msgspec.DecodeError):
        return words
    for part in ("msg", "message", "error", "response", "name"):
        inner = told.get(part) if isinstance(told, dict) else None
        if isinstance(inner, str):
            return inner
        if isinstance(inner, dict):
            return _message(msgspec.json.encode(inner).decode())
    for status in told.get("data", {}).get("statuses", []) if isinstance(told, dict) else []:
        if isinstance(status, dict) and isinstance(status.get("error"), str):
            return str(status["error"])
    return words


def refused_order(order: VenueOrder, reason: str, now: float) -> OrderProgress:
    return OrderProgress(
        order=order, state=OrderState.REFUSED, placed_at=now, changed_at=now, reason=reason
    )


async def _looked(
    find: Callable[[VenueOrder], Awaitable[OrderProgress | None]], order: VenueOrder
) -> OrderProgress | None:
    try:
        return await find(order)
    except MarketError:
        return None


# Whoever hears it looks at the venue. So an event that is forged, doubled or late causes a look and
# nothing else, and one that is lost is made good by the next look, which the clock brings anyway.
_FIRST_REST, _LONGEST_REST = 1.0, 60.0
"""Before a stream that broke is opened again; twice as long each time, until it tells something."""


class CcxtOrderStream:
    """Opened when it is first waited for, and anew after it broke."""

    def __init__(
        self,
        exchange: str,
        keys: VenueKeys | None = None,
        *,
        base_url: str | None = None,
        socket_url: str | None = None,
        options: Mapping[str, object] | None = None,
        asked: Mapping[str, object] | None = None,
    ) -> None:
        self._exchange = exchange
        self._keys = keys
        self._urls = {"base_url": base_url, "socket_url": socket_url}
        self._options = options
        self._asked = dict(asked or {})
        self._client: Any = None
        self._timers: list[asyncio.TimerHandle] = []

    async def event(self) -> None:
        """Until the venue tells of an order; MarketError where the stream broke."""
        try:
            if self._client is None:
                self._client = self._opened()
            await self._client.watch_orders(params=self._asked)
        except Exception as error:
            # Whatever came in, and whatever ccxt made of it: the look does not depend on it.
            await self.close()
            raise MarketError(f"the stream of orders broke ({error_kind(error)})") from None

    async def close(self) -> None:
        client, self._client = self._client, None
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        if client is not None:
            # First what carries the stream: a venue that is gone answers no farewell.
            if client.session is not None:
                await client.session.close()
            await client.close()

    def _opened(self) -> Any:  # noqa: ANN401 - ccxt's classes have no types
        client = open_client(
            self._exchange, self._keys, **self._urls, options=self._options, streams=True
        )
        broken = ccxt_errors().NetworkError
        read, spawn = client.handle_message, client.spawn

        def handle(socket: Any, message: object) -> None:  # noqa: ANN401
            try:
                read(socket, message)
            except Exception as error:
                # Raised in the loop's own callback it would be printed, and the stream be deaf.
                socket.reject(broken(error_kind(error)))

        def delay(milliseconds: float, work: object, *given: object) -> None:
            # ccxt renews its key for the stream later on, also after that was closed.
            loop = asyncio.get_running_loop()
            self._timers.append(loop.call_later(milliseconds / 1000, spawn, work, *given))

        client.handle_message, client.delay = handle, delay
        return client


@asynccontextmanager
async def order_bell(
    venue: Venue, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> AsyncIterator[asyncio.Event]:
    """Set whenever there is a reason to look; never where the venue has no stream.

    However many events come while somebody looks, they cause one more look.
    """
    rung = asyncio.Event()
    if not (venue.abilities.streams and isinstance(venue, TellsOfOrders)):
        yield rung
        return
    listening = asyncio.create_task(_listen(venue, rung, sleep), name="stream of orders")
    try:
        yield rung
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def _listen(
    venue: TellsOfOrders, rung: asyncio.Event, sleep: Callable[[float], Awaitable[None]]
) -> None:
    rest = _FIRST_REST
    while True:
        try:
            await venue.order_stream.event()
            rest = _FIRST_REST
        except MarketError:
            await sleep(rest)
            rest = min(2 * rest, _LONGEST_REST)
        # Also after it broke: nobody knows what it did not tell.
        rung.set()


_PATIENCE = 5.0
_HOUR = 3600
_FUNDING_HOURS = 8


class VenuesRead(NamedTuple):
    readings: tuple[VenueReading, ...]
    failures: tuple[str, ...]
    """What those say that told nothing."""


class OtherVenues:
    """Asks all at once; each may fail alone."""

    def __init__(self, base_url: str | None = None, *, patience: float = _PATIENCE) -> None:
        """Another address is for servers of the same shapes; raises where ccxt is missing."""
        self._patience = patience
        self._errors = ccxt_errors()
        self._clients = {name: open_client(name, base_url=base_url) for name in _READERS}

    async def close(self) -> None:
        await asyncio.gather(*(client.close() for client in self._clients.values()))

    async def read(self, coin: str) -> VenuesRead:
        asked = (self._one(name, coin) for name in self._clients)
        answers = await asyncio.gather(*asked)
        return VenuesRead(
            tuple(answer for answer in answers if isinstance(answer, VenueReading)),
            tuple(str(answer) for answer in answers if isinstance(answer, MarketError)),
        )

    async def _one(self, name: str, coin: str) -> VenueReading | MarketError:
        title, read = _READERS[name]
        try:
            async with asyncio.timeout(self._patience):
                return await read(self._clients[name], VenueAnswer(title), coin)
        except TimeoutError:
            return MarketError(f"{title} did not answer within {self._patience:g} s")
        except MarketError as error:
            return error
        except self._errors.BaseError as error:
            said = quote_words(str(error)) or "without a reason"
            return MarketError(f"{title} answers {error_kind(error)} ({said})")


async def _bybit(client: Any, read: VenueAnswer, coin: str) -> VenueReading:  # noqa: ANN401
    asked = {"category": "linear", "symbol": f"{coin}USDT"}
    answer = read.mapping(await client.publicGetV5MarketTickers(asked), "contract")
    result = read.mapping(answer.get("result"), "contract")
    row = _only(read, result.get("list"), coin, f"{coin}USDT", "symbol")
    hours = read.positive(row.get("fundingIntervalHour") or _FUNDING_HOURS, "funding interval")
    return VenueReading(
        "Bybit",
        read.positive(row.get("markPrice"), "mark"),
        read.number(row.get("fundingRate"), "funding rate") * _FUNDING_HOURS / hours,
        read.amount(row.get("openInterestValue"), "open interest"),
    )


async def _okx(client: Any, read: VenueAnswer, coin: str) -> VenueReading:  # noqa: ANN401
    name = f"{coin}-USDT-SWAP"
    asked = {"instType": "SWAP", "instId": name}
    interest, mark, funding = await asyncio.gather(
        client.publicGetPublicOpenInterest(asked),
        client.publicGetPublicMarkPrice(asked),
        client.publicGetPublicFundingRate({"instId": name}),
    )
    rows = [
        _only(read, read.mapping(answer, "contract").get("data"), coin, name, "instId")
        for answer in (interest, mark, funding)
    ]
    price = read.positive(rows[1].get("markPx"), "mark")
    due = [read.number(rows[2].get(key), "funding") for key in ("fundingTime", "nextFundingTime")]
    hours = (due[1] - due[0]) / 1000 / _HOUR
    if hours <= 0:
        raise read.wrong("funding interval")
    return VenueReading(
        "OKX",
        price,
        read.number(rows[2].get("fundingRate"), "funding rate") * _FUNDING_HOURS / hours,
        read.amount(rows[0].get("oiCcy"), "open interest") * price,
    )


async def _upbit(client: Any, read: VenueAnswer, coin: str) -> VenueReading:  # noqa: ANN401
    """Spot in won, at the venue's own price of a dollar coin."""
    market = f"KRW-{coin}"
    rows = read.rows(await client.publicGetTicker({"markets": f"{market},KRW-USDT"}), "ticker")
    won = read.positive(_only(read, rows, coin, market, "market").get("trade_price"), "price")
    dollar = _only(read, rows, coin, "KRW-USDT", "market").get("trade_price")
    return VenueReading("Upbit", won / read.positive(dollar, "price of a dollar"), None, None)


def _only(read: VenueAnswer, rows: object, coin: str, name: str, key: str) -> dict[str, object]:
    for row in read.rows(rows, "answer"):
        entry = read.mapping(row, "answer")
        if entry.get(key) == name:
            return entry
    raise read.wrong(f"answer about {coin}")


_READERS: dict[str, tuple[str, Callable[[Any, VenueAnswer, str], Awaitable[VenueReading]]]] = {
    "bybit": ("Bybit", _bybit),
    "okx": ("OKX", _okx),
    "upbit": ("Upbit", _upbit),
}
