"""The rules about what a position is worth: fees to collect, levels the person set, its price."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from agents.monitor.alert import AlertKind, Finding, Severity
from agents.words import percent, usd

if TYPE_CHECKING:
    from agents.monitor.situation import Situation
    from agents.monitor.thresholds import Thresholds

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
    figures = (situation.principal_usd, situation.fees_usd)
    return thresholds.value_below_usd is not None and None in figures


def _worth_under(situation: Situation, thresholds: Thresholds, standing: bool) -> Finding | None:
    level, principal, fees = thresholds.value_below_usd, situation.principal_usd, situation.fees_usd
    if level is None or principal is None or fees is None:
        return None
    worth = principal + fees
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
