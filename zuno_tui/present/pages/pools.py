"""Pools a position could be opened in, by figures that other sites show, too."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from msgspec import Struct

from agents.lp.advice_words import edge_figure
from chain.base.units import Quantity, Unknown
from chain.contracts.hooks import NO_HOOK, Danger
from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolId
from chain.prices.price import WorthUnit
from chain.protocols.reference import V4
from zuno_tui.present.charts import figure
from zuno_tui.present.document import Units
from zuno_tui.present.pages.page import (
    Cells,
    Page,
    PageCell,
    PageHeadline,
    PageTable,
    Words,
    page_columns,
)
from zuno_tui.present.words import UNKNOWN, fee_text, percent, round_usd, worth, yearly_percent

UNREAD = Unknown("the week's swaps are not read yet")
_TEN_PERCENT = 1.1


class ProtocolFees(Struct, frozen=True):
    """In pips, by the way a swap goes."""

    zero_for_one: int
    one_for_zero: int


class ListedPool(Struct, frozen=True):
    pool_id: PoolId
    protocol: str
    pair: str
    currency0: Address
    currency1: Address
    symbol0: str
    symbol1: str
    fee: int
    fee_tier: int
    """What a swap pays now, in pips; `fee` of a pool with a dynamic one is a mark."""
    dynamic: bool
    lp_fee: int
    protocol_fee: ProtocolFees
    tick_spacing: int
    hooks: Address
    hook_danger: Danger
    hook_sentences: tuple[str, ...]
    tick: int
    sqrt_price_x96: Units
    liquidity: Units
    price: float | None
    price_unit: str | None
    depth_usd: Quantity[Fraction]
    """What it would trade within two per cent of its price, both ways together."""
    fees_a_day_usd: Quantity[float]
    """Paid to all liquidity providers together, the mean of seven days at today's prices."""
    fees_a_year7d: Quantity[float]
    """Of liquidity over all prices, as a part of its worth."""
    edge7d: Quantity[float]
    volatility7d: Quantity[float]
    verified: bool
    """Whether both tokens are known by their addresses."""

    @property
    def apr_ten_percent(self) -> Quantity[float]:
        """While the price stays within 10% both ways, by how much less such a range needs for
        the same liquidity."""
        return self.fees_a_year7d.map(lambda part: part / (1 - _TEN_PERCENT**-0.5))

    @property
    def hook_words(self) -> str:
        return "" if self.hooks == NO_HOOK else _HOOKS[self.hook_danger]

    @property
    def fee_words(self) -> str:
        return f"{fee_text(self.fee_tier)}{' dynamic' if self.dynamic else ''}"

    @property
    def phrase(self) -> str:
        """Something to go on from; nothing where a token has no name to be trusted.

        What is opened is opened in v4: from a pool of v3 one goes on to all of v4 in its pair.
        """
        if not self.verified:
            return ""
        fixed = self.protocol == V4 and not self.dynamic
        return f"create 1 {self.pair}{f' {self.fee_words}' if fixed else ''}"


_HOOKS = {Danger.NONE: "harmless", Danger.CAUTION: "caution", Danger.DANGEROUS: "dangerous"}


class PoolList(Struct, frozen=True):
    network: str
    chain_id: int
    block: int
    found: int
    listed_at: float
    complete: bool
    pools: tuple[ListedPool, ...]


def pools_page(
    listed: PoolList, ranked_by: str, coverage: Sequence[str], better: Sequence[str]
) -> Page:
    count = len(listed.pools)
    unread = any(pool.edge7d == UNREAD for pool in listed.pools)
    columns = page_columns(
        *("POOL", "@90", "FEE>", "PRICE>@110", "FEES/DAY>", "APR ±10%>", "APR ALL PRICES>@100"),
        *("PAYS 7 D>", "DEPTH ±2%>@84", "HOOK"),
    )
    return Page(
        "Pools",
        (
            (
                PageHeadline(f"{count} of {listed.found} pools{ranked_by}", coverage[0]),
                *(Words(f"! {words}", "warn") for words in coverage[1:]),
            ),
            (PageTable(columns, tuple(map(pool_cells, listed.pools))),) if listed.pools else (),
            (
                *(Words(words, "plain") for words in better),
                *((Words("– is not read yet: zuno pools --pays"),) if unread else ()),
                Words(
                    "Fees: past 7 days, to all providers together. APR ±10%: while the price stays "
                    "within 10%; all prices: a full range. Pays: fees over what arbitrage took."
                ),
            ),
        ),
    )


def pool_cells(pool: ListedPool) -> Cells:
    """For a page and for the desk's list alike."""
    danger = pool.hook_danger is Danger.DANGEROUS
    return (
        PageCell(pool.pair, "strong"),
        PageCell(pool.protocol, "dim"),
        _fee_cell(pool),
        PageCell("–" if pool.price is None else figure(pool.price)),
        _cell(pool.fees_a_day_usd, round_usd),
        _cell(pool.apr_ten_percent, yearly_percent),
        _cell(pool.fees_a_year7d, _small_percent),
        _pays_cell(pool.edge7d),
        PageCell(worth(pool.depth_usd, WorthUnit.USD).partition(".")[0]),
        PageCell(pool.hook_words, "bad" if danger else "warn"),
    )


def _fee_cell(pool: ListedPool) -> PageCell:
    """A hook is named here, too: its own column has no room on a narrow screen."""
    if not pool.hook_words:
        return PageCell(pool.fee_words)
    danger = pool.hook_danger is Danger.DANGEROUS
    # Only a hook can make a fee dynamic.
    return PageCell(
        f"{pool.fee_words}{'' if pool.dynamic else ' hook'}", "bad" if danger else "warn"
    )


def _cell(value: Quantity[float], words: Callable[[float], str]) -> PageCell:
    if isinstance(value, Unknown):
        return PageCell("–" if value == UNREAD else UNKNOWN, "dim")
    return PageCell(words(value.value))


def _small_percent(part: float) -> str:
    return f"{100 * part:.2f}%" if part >= 0.0001 else percent(part)


def _pays_cell(edge: Quantity[float]) -> PageCell:
    words = _cell(edge, edge_figure)
    if isinstance(edge, Unknown):
        return words
    return PageCell(words.text, "good" if edge.value >= 1 else "bad")
