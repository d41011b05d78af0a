"""What a wallet holds besides its positions."""

from fractions import Fraction

from msgspec import Struct

from chain.base.units import Quantity, Unknown
from chain.contracts.addresses import shorten_address
from chain.contracts.networks import Address
from chain.prices.price import WorthUnit
from chain.tokens import Token
from zuno_tui.present.pages.cells import bar_parts, money_cell, money_head, total
from zuno_tui.present.pages.page import (
    Page,
    PageCell,
    PageHeadline,
    PageTable,
    Words,
    next_steps,
    page_columns,
)
from zuno_tui.present.words import amount_of, percent, worth


class TokenBalance(Struct, frozen=True):
    token: Token
    amount: Quantity[int]
    price: Quantity[Fraction]
    value: Quantity[Fraction]
    source: str
    """Who says the price, or why it is unknown."""


class WalletBalances(Struct, frozen=True):
    network: str
    chain_id: int
    block: int
    owner: Address
    unit: WorthUnit
    balances: tuple[TokenBalance, ...]
    disputes: tuple[str, ...]
    """Where sources of prices disagree."""


def balances_page(held: WalletBalances, title: str) -> Page:
    known = [each.value for each in held.balances if not isinstance(each.value, Unknown)]
    unpriced = len(held.balances) - len(known)
    more = f" and {unpriced} without a price" if unpriced else ""
    where = f"{shorten_address(held.owner)} on {title}, block {held.block:,}"
    if not held.balances:
        nothing = "This wallet holds no listed token of this network."
        return Page("Balances", ((PageHeadline(nothing, where),),))
    headline = PageHeadline(f"{worth(total(known), held.unit)}{more}", where)
    return Page(
        "Balances",
        (
            (headline, *(Words(words, "warn") for words in held.disputes)),
            (_table(held),),
            (
                Words("Tokens in the wallet itself; positions are not counted: zuno portfolio"),
                next_steps(f"where to provide it: zuno pools {_largest(held)}"),
            ),
        ),
    )


def _table(held: WalletBalances) -> PageTable:
    unit = held.unit
    ranked = sorted(held.balances, key=_size, reverse=True)
    parts = bar_parts([each.value for each in ranked])
    known = total([each.value for each in ranked if not isinstance(each.value, Unknown)])
    columns = page_columns(
        *("TOKEN", "BALANCE>", money_head("PRICE", unit), money_head("VALUE", unit)),
        *("SHARE>", "PRICE FROM@96"),
    )
    rows = tuple(
        (
            PageCell(each.token.label),
            PageCell("unknown", "dim")
            if isinstance(each.amount, Unknown)
            else PageCell(amount_of(each.amount.value, each.token)),
            money_cell(each.price, unit),
            money_cell(each.value, unit, part),
            _share(each.value, known),
            PageCell(each.source, "dim"),
        )
        for each, part in zip(ranked, parts, strict=True)
    )
    blank = PageCell("")
    sums = (PageCell("all tokens"), blank, blank, money_cell(known, unit), blank, blank)
    return PageTable(columns, rows, (sums,) if len(rows) > 1 else ())


def _largest(held: WalletBalances) -> str:
    return max(held.balances, key=_size).token.label


def _share(value: Quantity[Fraction], whole: Quantity[Fraction]) -> PageCell:
    """Of what has a price."""
    if isinstance(value, Unknown) or isinstance(whole, Unknown) or not whole.value:
        return PageCell("–", "dim")
    return PageCell(percent(value.value / whole.value))


def _size(balance: TokenBalance) -> Fraction:
    return Fraction(-1) if isinstance(balance.value, Unknown) else balance.value.value
