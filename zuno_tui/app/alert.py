"""`zuno alert`: prices to be told of, kept for the monitor; listed, added and removed."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import TYPE_CHECKING

from agents.monitor.alerts.alert import iso_time
from agents.monitor.alerts.state import (
    PriceAlert,
    UnknownPriceAlertError,
    drop_price_alert,
    keep_price_alert,
    read_price_alerts,
)
from chain.base.quantity import Quantity, Unknown
from chain.base.units import NumeralError, read_numeral, spelled_out
from chain.contracts.networks import all_networks
from chain.prices.ladder import read_prices
from chain.rpc.errors import RpcError
from zuno_tui.app.health import watch_health
from zuno_tui.app.price import token_called
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.output import Json, OutputColumn, table
from zuno_tui.present.words import number
from zuno_tui.prompt.phrase_error import PhraseError
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from chain.tokens import Token
    from zuno_tui.app.session import Session

_COLUMNS = (
    OutputColumn("#", "right"),
    OutputColumn("TOKEN"),
    OutputColumn("WHEN"),
    OutputColumn("PRICE (USD)", "right"),
    OutputColumn("NETWORK"),
)
_HOW = "Say it like: zuno alert ETH below 3000"


def told(session: Session) -> CommandAnswer:
    session.home.prepare()
    alerts = read_price_alerts(session.home.database)
    rows = [(str(one.id), one.symbol, one.side, one.level, _network(one)) for one in alerts]
    return CommandAnswer(
        heading=() if rows else (f"No price alert is set. {_HOW}",),
        lines=tuple(table(_COLUMNS, rows)) if rows else (),
        document={"priceAlerts": [_document(one) for one in alerts]},
        remarks=_watched(session) if rows else (),
    )


async def kept(session: Session, symbol: str, side: str | None, level: str | None) -> CommandAnswer:
    if side not in ("below", "above") or level is None:
        raise PhraseError(f"{symbol!r} alone is no price alert: below or above what? {_HOW}", "")
    token = token_called(session.network, symbol)
    dollars = _dollars(level)
    session.home.prepare()
    alert = keep_price_alert(
        session.home.database,
        chain_id=session.network.chain_id,
        token=token.address,
        symbol=token.symbol,
        side="below" if side == "below" else "above",
        level=dollars,
        now=time.time(),
    )
    price = await _price(session, token)
    return CommandAnswer(
        lines=(f"Price alert {alert.id}: {alert.words} USD on {session.network.title}.",),
        document={**_document(alert), "price": number(price), "unit": "usd"},
        remarks=(_now(alert, price), *_watched(session)),
    )


def removed(session: Session, said: str | None) -> CommandAnswer:
    if said is None or not said.removeprefix("#").isdecimal():
        raise PhraseError("Which one? Like: zuno alert remove 2. See them all: zuno alert", "")
    session.home.prepare()
    try:
        alert = drop_price_alert(session.home.database, int(said.removeprefix("#")))
    except UnknownPriceAlertError as error:
        raise PhraseError(str(error), "") from error
    return CommandAnswer(
        lines=(f"Price alert {alert.id} ({alert.words}) is removed.",), document=_document(alert)
    )


def _dollars(level: str) -> str:
    try:
        numeral = read_numeral(level.removeprefix("$"))
    except NumeralError as error:
        raise PhraseError(str(error), "") from error
    if numeral.digits <= 0:
        raise PhraseError(f"A price is more than zero. {_HOW}", "")
    return spelled_out(numeral)


async def _price(session: Session, token: Token) -> Quantity[Fraction]:
    try:
        async with session.connect() as client, session.market() as coingecko:
            prices = await read_prices(
                client, session.network, [token.address], coingecko=coingecko
            )
    except (RpcError, SettingsError) as error:
        return Unknown(str(error))
    return prices.price(token.address)


def _now(alert: PriceAlert, price: Quantity[Fraction]) -> str:
    if isinstance(price, Unknown):
        return f"What {alert.symbol} is worth now could not be read: {price.reason}"
    beyond = price.value < alert.dollars if alert.side == "below" else price.value > alert.dollars
    already = f" It is {alert.side} that already, and is told at once." if beyond else ""
    return f"{alert.symbol} is ${float(price.value):,.6g} now.{already}"


def _watched(session: Session) -> tuple[str, ...]:
    health = watch_health(session.home, now=time.time())
    return tuple(filter(None, (health.sentence, health.next_step)))


def _network(alert: PriceAlert) -> str:
    found = (one.name for one in all_networks() if one.chain_id == alert.chain_id)
    return next(found, str(alert.chain_id))


def _document(alert: PriceAlert) -> dict[str, Json]:
    return {
        "id": alert.id,
        "network": _network(alert),
        "chainId": alert.chain_id,
        "symbol": alert.symbol,
        "address": alert.token,
        "side": alert.side,
        "level": float(alert.level),
        "levelUnit": "usd",
        "createdAt": iso_time(alert.created_at),
    }
