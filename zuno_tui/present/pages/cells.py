"""Cells of pages: money in the unit a person counts in, named once in the column's head."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from chain.base.units import Known, Quantity, Unknown
from chain.contracts.pool_key import PoolKey
from chain.prices.price import WorthUnit
from chain.tokens import Token
from chain.tokens.pair import Pair
from zuno_tui.present.pages.page import PageCell
from zuno_tui.present.words import UNKNOWN, fee_text, four_digits, money_figure


def pool_title(pair: Pair, key: PoolKey) -> str:
    """`WETH/USDC 0.05%`: what tells it from other pools of its pair."""
    return f"{pair.name} {fee_words(key)}"


def fee_words(key: PoolKey) -> str:
    return "dynamic" if key.has_dynamic_fee else fee_text(key.fee)


def money_head(title: str, unit: WorthUnit) -> str:
    return f"{title}>" if unit is WorthUnit.USD else f"{title} {unit.value.upper()}>"


def money_cell(value: Quantity[Fraction], unit: WorthUnit, part: float | None = None) -> PageCell:
    if isinstance(value, Unknown):
        return PageCell(UNKNOWN, "dim")
    return PageCell(money_figure(value.value, unit), "plain", part)


def gain_cell(value: Quantity[Fraction], unit: WorthUnit, part: float | None = None) -> PageCell:
    """Its sign always shown, and by its colour."""
    if isinstance(value, Unknown):
        return PageCell(UNKNOWN, "dim")
    text = money_figure(value.value, unit)
    if text.strip("$−0.") == "":
        return PageCell(text.removeprefix("−"), "dim")
    return PageCell(text, "bad", part) if value.value < 0 else PageCell(f"+{text}", "good", part)


def total(values: Iterable[Quantity[Fraction]]) -> Quantity[Fraction]:
    """Of all of them; unknown, with the first reason, where one is."""
    whole = Fraction(0)
    for value in values:
        if isinstance(value, Unknown):
            return value
        whole += value.value
    return Known(whole, "summed")


def bar_parts(values: Sequence[Quantity[Fraction]]) -> list[float | None]:
    """How long a bar for each is, of the longest; none for what is unknown or nothing."""
    sizes = [None if isinstance(each, Unknown) else abs(each.value) for each in values]
    most = max(filter(None, sizes), default=None)
    return [float(size / most) if size and most else None for size in sizes]


def amounts_text(*amounts: tuple[int, Token]) -> str:
    """`0.5 WETH + 200 USDC`: nothing of what there is none of."""
    there = [(amount, token) for amount, token in amounts if amount]
    return " + ".join(f"{_short(amount, token)} {token.label}" for amount, token in there) or "–"


def _short(amount: int, token: Token) -> str:
    if token.decimals is None:
        return f"{amount} raw"
    size = amount / 10**token.decimals
    return f"{size:,.1f}" if 1_000 <= size < 10_000 else four_digits(size)
