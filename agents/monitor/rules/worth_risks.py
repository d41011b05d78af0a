"""The rules about worth: fees to collect, levels the person set, and prices beyond them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from agents.monitor.alerts.alert import (
    Alert,
    AlertKind,
    AlertSubject,
    Change,
    Cleared,
    Finding,
    Raised,
    Severity,
)
from agents.monitor.alerts.state import PriceAlert
from agents.monitor.alerts.store_page import WatchPlace
from agents.monitor.rules.thresholds import Thresholds, still_fresh
from chain.base.units import HOUR, Known, Unknown, percent, usd
from chain.contracts.networks import Address, Network
from chain.math.liquidity import Amounts
from chain.positions.by_day import SinceEntry, since_entry, worth
from chain.positions.overview import Sources
from chain.positions.performance import accounts_of, read_past
from chain.protocols.past import LiquidityChange
from chain.protocols.reference import PositionRef, position_label
from chain.protocols.snapshot import PositionSnapshot
from chain.protocols.v4.memory import PositionMemory
from chain.rpc.errors import RpcError
from chain.rpc.records import Block

if TYPE_CHECKING:
    from agents.monitor.rules.situation import Situation

KEPT_SECONDS: float = HOUR
"""What went in is read again this often, though nothing seems to have changed."""
RETRY_SECONDS = 300.0
"""After a read that failed, or that could not tell."""


class Losses(NamedTuple):
    shares: Mapping[PositionRef, float]
    """By position, of what went in at present prices; a gain is negative."""
    unknown: Mapping[PositionRef, str]
    """By position, why one that was asked for is not among them."""


class _Account(NamedTuple):
    """What was read of a position's past."""

    changes: tuple[LiquidityChange, ...]
    liquidity: int
    read_at: float
    waiting: Amounts
    """When it was last looked at: less of them means that some were collected."""

    @property
    def adds_up(self) -> bool:
        return sum(change.liquidity_delta for change in self.changes) == self.liquidity

    def leads_to(self, position: PositionSnapshot) -> bool:
        """Whether nothing seems to have been put in or taken out since."""
        collected = any(
            now < then for now, then in zip(position.collectable, self.waiting, strict=True)
        )
        return self.liquidity == position.liquidity and not collected


class LossReader:
    """What positions lost, at every poll; their logs are read only when something changed.

    Between two reads a loss follows from the changes already known and the present price.
    """

    def __init__(self, sources: Sources, memory: PositionMemory) -> None:
        self._sources = sources
        self._memory = memory
        self._accounts: dict[PositionRef, _Account] = {}
        self._failed_at: float | None = None
        self._trouble = ""

    async def read(self, positions: Sequence[PositionSnapshot], now: float) -> Losses:
        """A stop-loss that cannot be judged is told, not passed over."""
        asked = [position for position in positions if self._outdated(position, now)]
        if asked and not still_fresh(self._failed_at, RETRY_SECONDS, now):
            await self._renew(asked, now)
        shares: dict[PositionRef, float] = {}
        unknown: dict[PositionRef, str] = {}
        for position in positions:
            share = self._share(position)
            if isinstance(share, str):
                unknown[position.ref] = share
            else:
                shares[position.ref] = share
        return Losses(shares, unknown)

    def _outdated(self, position: PositionSnapshot, now: float) -> bool:
        """Whether the position may no longer be what its known changes made of it."""
        account = self._accounts.get(position.ref)
        if account is None:
            return True
        if not account.leads_to(position):
            # A collected fee that is not known yet would look like a loss.
            del self._accounts[position.ref]
            return True
        seen = account._replace(waiting=position.collectable)
        self._accounts[position.ref] = seen
        kept = KEPT_SECONDS if account.adds_up else RETRY_SECONDS
        return not still_fresh(account.read_at, kept, now)

    async def _renew(self, positions: Sequence[PositionSnapshot], now: float) -> None:
        self._failed_at = None
        try:
            accounts = accounts_of(positions, await read_past(self._sources, positions))
        except RpcError as error:
            self._failed_at, self._trouble = now, f"No loss could be judged: {error.sentence}"
            return
        for position in positions:
            changed = accounts[position.ref].changes
            account = _Account(changed, position.liquidity, now, position.collectable)
            self._accounts[position.ref] = account

    def _share(self, position: PositionSnapshot) -> float | str:
        account = self._accounts.get(position.ref)
        if account is None:
            return self._trouble
        return share_lost(position, since_entry(position, account.changes))


def share_lost(position: PositionSnapshot, account: SinceEntry) -> float | str:
    """Of what went in at present prices, or why it is not known."""
    gained, deposited = account.against_holding, account.deposited
    if isinstance(gained, Unknown):
        return f"The loss of {position_label(position.ref)} is unknown: {gained.reason}."
    if isinstance(deposited, Unknown):
        return f"The loss of {position_label(position.ref)} is unknown: {deposited.reason}."
    return -float(gained.value / worth(deposited.value, position.pool.sqrt_price_x96))


_STILL_WORTH = 0.8
"""A standing alert about fees is over when they fall under this share of what opened it."""
_PAST_LEVEL = Fraction(1, 200)
"""A level is left behind when the price is this part beyond it."""
_PAST_LEVEL_USD = 1.01
_CALMER_LOSS = 0.01
_CALMER_DISAGREEMENT = 0.75


def fees_worth_collecting(
    situation: Situation, thresholds: Thresholds, standing: bool
) -> Finding | None:
    fees, gas = situation.fees_usd, situation.collect_usd
    if fees is None or gas is None:
        return None
    enough = max(thresholds.fees_usd, thresholds.fees_gas_multiple * gas)
    if fees < enough * (_STILL_WORTH if standing else 1):
        return None
    return Finding(
        AlertKind.FEES_WORTH_COLLECTING,
        Severity.INFO,
        f"{situation.name} has {usd(fees)} of fees to collect; collecting costs about {usd(gas)}.",
        "the fees are worth the gas of collecting them",
        situation.command("collect"),
        {"feesUsd": round(fees, 2), "gasUsd": round(gas, 4)},
    )


def withdrawn_waits(situation: Situation, thresholds: Thresholds, standing: bool) -> Finding | None:
    """Told apart from fees, or said together with them where nobody can tell which is which."""
    withdrawn, waiting = situation.withdrawn_usd, situation.waiting_usd
    apart = isinstance(situation.position.withdrawn, Known)
    if situation.collect_usd is None or waiting is None:
        return None
    told = (withdrawn or 0.0) if apart else waiting
    enough = max(thresholds.fees_usd, thresholds.fees_gas_multiple * situation.collect_usd)
    if told < enough * (_STILL_WORTH if standing else 1):
        return None
    parts = f"{usd(told)} you withdrew + {usd(waiting - told)} fees"
    unsure = "fees or what you withdrew; the endpoint does not give the logs that tell which"
    return Finding(
        AlertKind.WITHDRAWN_WAITS,
        Severity.INFO,
        f"{situation.name}: {usd(waiting)} waits: {parts if apart else unsure}.",
        "what was withdrawn waits to be collected" if apart else "money waits to be collected",
        situation.command("collect"),
        {
            "withdrawnUsd": round(told, 2) if apart else None,
            "waitingUsd": round(waiting, 2),
            "gasUsd": round(situation.collect_usd, 4),
        },
    )


def price_disagreement(
    situation: Situation, thresholds: Thresholds, standing: bool
) -> Finding | None:
    difference = situation.price_difference
    if difference is None:
        return None
    if difference < thresholds.disagreement * (_CALMER_DISAGREEMENT if standing else 1):
        return None
    return Finding(
        AlertKind.PRICE_DISAGREEMENT,
        Severity.WARNING,
        f"{situation.name}: the market and the pools differ by {percent(difference)} on a token's"
        " price. One of them is wrong; do not trade by either before you know which.",
        "two sources of a price disagree",
        situation.command("inspect"),
        {"difference": round(difference, 4)},
    )


def price_level(situation: Situation, thresholds: Thresholds, standing: bool) -> Finding | None:
    below, above = thresholds.price_below, thresholds.price_above
    if below is None and above is None:
        return None
    price = situation.pair.price(situation.position.pool.sqrt_price_x96)
    if price is None:
        return None
    value = Fraction(price.numerator, price.denominator)
    slack = _PAST_LEVEL if standing else Fraction(0)
    if below is not None and value < below * (1 + slack):
        side, level = "below", below
    elif above is not None and value > above * (1 - slack):
        side, level = "above", above
    else:
        return None
    return Finding(
        AlertKind.PRICE_LEVEL,
        Severity.CRITICAL,
        f"{situation.name}: the price is {price}, {side} the level you set, {float(level):g}.",
        f"the price is {side} the level you set",
        situation.command("close"),
        {"price": price.digits(), "level": f"{float(level):g}"},
    )


def loss_level(situation: Situation, thresholds: Thresholds, standing: bool) -> Finding | None:
    """A stop-loss that tells and never trades."""
    return _worth_under(situation, thresholds, standing) or _lost(situation, thresholds, standing)


def loss_is_unknown(situation: Situation, thresholds: Thresholds) -> bool:
    """Whether a loss that was told may still be one, though its figures cannot be had now."""
    if thresholds.loss is not None and situation.loss is None:
        return True
    figures = (situation.principal_usd, situation.waiting_usd)
    return thresholds.value_below_usd is not None and None in figures


def _worth_under(situation: Situation, thresholds: Thresholds, standing: bool) -> Finding | None:
    level, principal = thresholds.value_below_usd, situation.principal_usd
    if level is None or principal is None or situation.waiting_usd is None:
        return None
    worth = principal + situation.waiting_usd
    if worth >= level * (_PAST_LEVEL_USD if standing else 1):
        return None
    return Finding(
        AlertKind.LOSS_LEVEL,
        Severity.CRITICAL,
        f"{situation.name} is worth {usd(worth)}, under the {usd(level)} you set.",
        "the position is worth less than the level you set",
        situation.command("close"),
        {"worthUsd": round(worth, 2), "levelUsd": level},
    )


def _lost(situation: Situation, thresholds: Thresholds, standing: bool) -> Finding | None:
    level, loss = thresholds.loss, situation.loss
    if level is None or loss is None or loss < level - (_CALMER_LOSS if standing else 0):
        return None
    return Finding(
        AlertKind.LOSS_LEVEL,
        Severity.CRITICAL,
        f"{situation.name} has lost {percent(loss)} of what went in, fees counted, more than the"
        f" {percent(level)} you set.",
        "the position has lost more than the level you set",
        situation.command("close"),
        {"loss": round(loss, 4), "level": level},
    )


COOLDOWN_SECONDS = 900
"""A price that trembles around a level is told of once in so long."""
_BACK_BY = Fraction(1, 200)
"""It counts as back when it is half a percent on the other side."""


def price_crossings(
    network: Network,
    place: WatchPlace,
    wanted: Sequence[PriceAlert],
    prices: Mapping[Address, Fraction | None],
    *,
    alerts: Sequence[Alert],
    block: Block,
) -> Iterator[Change]:
    """Each crossing opens an alert once; an unknown price changes nothing."""
    known = {
        alert.subject.label: alert for alert in alerts if alert.kind == AlertKind.PRICE_CROSSED
    }
    at, time = block.number, float(block.timestamp)
    for each in wanted:
        alert, price = known.pop(each.words, None), prices.get(each.token)
        if price is None:
            continue
        standing = alert is not None and alert.active
        subject = AlertSubject(
            network.chain_id, place.wallet_address, None, AlertKind.PRICE_CROSSED, each.words
        )
        if _beyond(each, price, standing=standing):
            if standing or alert is None or not _just_over(alert, time):
                yield Raised(subject, network.name, _finding(network, each, price), at, time)
        elif standing:
            yield Cleared(subject, at, time, "the price is on the other side again")
    for alert in known.values():
        if alert.active:
            yield Cleared(alert.subject, at, time, "the price alert was removed")


def _beyond(wanted: PriceAlert, price: Fraction, *, standing: bool) -> bool:
    slack = _BACK_BY if standing else Fraction(0)
    if wanted.side == "below":
        return price < wanted.dollars * (1 + slack)
    return price > wanted.dollars * (1 - slack)


def _just_over(alert: Alert, time: float) -> bool:
    return alert.resolved_at is not None and 0 <= time - alert.resolved_at < COOLDOWN_SECONDS


def _finding(network: Network, wanted: PriceAlert, price: Fraction) -> Finding:
    return Finding(
        AlertKind.PRICE_CROSSED,
        Severity.WARNING,
        f"{wanted.symbol} is ${float(price):,.6g}, {wanted.side} ${float(wanted.dollars):,.6g},"
        " the price you set.",
        f"{wanted.symbol} is {wanted.side} the price you set",
        f"zuno --network {network.name} positions",
        {"price": f"{float(price):.6g}", "level": wanted.level},
    )
