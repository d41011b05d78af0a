"""What every position came to, and everything that moved, at the prices of its time."""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import groupby

from msgspec import Struct

from chain.base.units import Known, Quantity, Unknown, signed_percent
from chain.bookkeeping.ledger import EntryKind, LedgerAccount
from chain.bookkeeping.results import StoryResult
from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolId
from chain.prices.price import WorthUnit
from chain.protocols.reference import PositionRef, position_name
from zuno_tui.present.charts import DrawnTone
from zuno_tui.present.document import Units
from zuno_tui.present.history import (
    HistoryChapter,
    HistoryRow,
    WholeHistory,
    history_rows,
    moment_text,
    pool_of,
    pool_words,
    price_source,
)
from zuno_tui.present.pages.cells import bar_parts, gain_cell
from zuno_tui.present.pages.page import (
    Block,
    Cells,
    Page,
    PageCell,
    PageHeadline,
    PageTable,
    Words,
    next_steps,
    page_columns,
)
from zuno_tui.present.portfolio import wallet_words
from zuno_tui.present.words import UNKNOWN, four_digits, money, round_usd, signed_money

_USD = WorthUnit.USD
_PLACES = 6
_NOTHING = Fraction(0)
_BOTH_SIDES = frozenset((EntryKind.MINT, EntryKind.INCREASE, EntryKind.DECREASE))
_WHAT = {
    EntryKind.MINT: "open",
    EntryKind.INCREASE: "add",
    EntryKind.DECREASE: "remove",
    EntryKind.GAS: "network cost",
    EntryKind.TRADED: "traded by others",
    EntryKind.LEFT_OUT: "logs missing",
    EntryKind.FEES: "fees to collect",
    EntryKind.ELSEWHERE: "other transfers",
    EntryKind.REVALUED: "price changes",
}


class StoryRecord(Struct, frozen=True):
    """One position through all its moves, in US dollars."""

    story: str
    positions: tuple[PositionRef, ...]
    pool: str
    pool_id: PoolId | None
    network: str
    chain_id: int
    wallet: Address
    seconds: int
    """How long it was, or is, held."""
    paid_in: Quantity[Fraction]
    paid_out: Quantity[Fraction]
    fees: Quantity[Fraction]
    """Collected and to collect."""
    gas: Quantity[Fraction]
    swap_costs: Quantity[Fraction]
    uncollected: Quantity[Fraction]
    held: Quantity[Fraction]
    """What is there now, fees to collect included."""
    now: Quantity[Fraction]
    """Without them, so that all parts sum to the profit."""
    realised: Quantity[Fraction]
    unrealised: Quantity[Fraction]
    costs: Quantity[Fraction]
    profit: Quantity[Fraction]
    of_put_in: Quantity[Fraction]
    """The profit as a share of what was put in."""
    per_year: Quantity[Fraction]


class EntryRecord(Struct, frozen=True):
    """One amount of one token entering or leaving one account."""

    time: int
    network: str
    chain_id: int
    wallet: Address
    label: str | None
    kind: EntryKind
    account: LedgerAccount
    position: PositionRef | None
    story: str | None
    token: str
    address: Address
    decimals: int | None
    amount: Units
    price: Quantity[Fraction]
    price_source: str
    usd: float | None
    """Rounded so that all entries of a wallet sum to what it is worth."""
    transaction: str | None
    block: int


class HistoryRecord(Struct, frozen=True):
    unit: WorthUnit
    whole: bool
    everything: bool
    """Whether nothing was left out by a filter."""
    total: float
    portfolio: float
    missing: tuple[str, ...]
    stories: tuple[StoryRecord, ...]
    entries: tuple[EntryRecord, ...]


def history_record(whole: WholeHistory) -> HistoryRecord:
    rows = list(history_rows(whole))
    worths = (chapter.entry.worth for chapter in whole.chapters)
    return HistoryRecord(
        unit=_USD,
        whole=whole.whole,
        everything=whole.told.tells_all,
        total=round(float(sum((row.usd or _NOTHING for row in rows), _NOTHING)), _PLACES),
        portfolio=round(sum(float(worth.total) for worth in worths if worth is not None), _PLACES),
        missing=tuple(_missing(whole)),
        stories=tuple(_story_record(*result) for result in whole.results()),
        entries=tuple(map(_entry_record, rows)),
    )


def _story_record(chapter: HistoryChapter, result: StoryResult) -> StoryRecord:
    last, put_in = result.story.refs[-1], result.paid_in
    nothing_in = isinstance(put_in, Known) and not put_in.value
    share: Quantity[Fraction] = Unknown("nothing was put in")
    if not nothing_in:
        share = _combined(lambda gained, paid: gained / paid, result.result, put_in)
    key = pool_of(chapter, last)
    return StoryRecord(
        story=result.story.name,
        positions=tuple(result.story.refs),
        pool=pool_words(chapter, last),
        pool_id=None if key is None else key.pool_id,
        network=chapter.entry.network.name,
        chain_id=chapter.entry.network.chain_id,
        wallet=chapter.entry.wallet,
        seconds=int(result.story.seconds),
        paid_in=put_in,
        paid_out=result.paid_out,
        fees=result.fees_earned,
        gas=result.gas,
        swap_costs=result.swap_costs,
        uncollected=result.uncollected,
        held=result.held,
        now=result.worth_now,
        realised=result.realised,
        unrealised=result.unrealised,
        costs=result.costs,
        profit=result.result,
        of_put_in=share,
        per_year=result.per_year,
    )


def _combined(
    function: Callable[[Fraction, Fraction], Fraction],
    first: Quantity[Fraction],
    second: Quantity[Fraction],
) -> Quantity[Fraction]:
    if isinstance(first, Unknown):
        return first
    return second.map(lambda value: function(first.value, value))


def _entry_record(row: HistoryRow) -> EntryRecord:
    entry, place = row.entry, row.chapter.entry
    return EntryRecord(
        time=entry.time,
        network=place.network.name,
        chain_id=place.network.chain_id,
        wallet=place.wallet,
        label=place.label or None,
        kind=entry.kind,
        account=entry.account,
        position=entry.position,
        story=row.story or None,
        token=entry.token.label,
        address=entry.token.address,
        decimals=entry.token.decimals,
        amount=entry.amount,
        price=entry.price,
        price_source=price_source(entry.price),
        usd=None if row.usd is None else round(float(row.usd), _PLACES),
        transaction=entry.transaction or None,
        block=entry.block,
    )


def _missing(whole: WholeHistory) -> Iterator[str]:
    for chapter in whole.chapters:
        where = f"{wallet_words(chapter.entry)} on {chapter.entry.network.name}"
        for trouble in filter(None, (chapter.entry.trouble, chapter.trouble)):
            yield f"Not whole: {where} ({trouble})"
        if chapter.history is not None:
            yield from (f"Not whole: {where} ({gap})" for gap in chapter.history.gaps)
            unknown = sum(isinstance(entry.usd, Unknown) for entry in chapter.history.entries)
            if unknown:
                yield f"{where}: {unknown} entries have no price of their time"


def history_page(
    history: HistoryRecord, nobody_held: str = "", unit: WorthUnit = WorthUnit.USD
) -> Page:
    warnings = [Words(f"! {words}", "warn") for words in (*history.missing, nobody_held) if words]
    return Page(
        "History",
        (
            (_headline(history), *_why_dollars(unit), *warnings),
            tuple(_stories(history)),
            tuple(_done(history)),
            tuple(_happened(history)),
            (
                Words(_coverage(history)),
                next_steps("one position: zuno history ID", "as a file: zuno history --csv"),
            ),
        ),
    )


def _why_dollars(unit: WorthUnit) -> Iterator[Words]:
    if unit is not WorthUnit.USD:
        why = "each amount is counted at the price of its time, which is kept in dollars"
        yield Words(f"This page is in dollars, not in {unit.value.upper()}: {why}.")


def _headline(history: HistoryRecord) -> PageHeadline:
    known = [story for story in history.stories if isinstance(story.profit, Known)]
    if not known:
        nothing = "Nothing happened." if not history.entries else "No profit is known."
        return PageHeadline(nothing)
    profit, paid = _sum(known, _profit), _sum(known, _paid_in)
    share = f" · {signed_percent(profit / paid)} of {money(paid, _USD)} put in" if paid else ""
    others = len(history.stories) - len(known)
    count = "1 position" if len(known) == 1 else f"{len(known)} positions"
    rest = f" · {others} not counted: cost unknown" if others else ""
    return PageHeadline(
        f"profit {signed_money(Known(profit, ''), _USD)}",
        f"{count}{share}{rest}",
        "bad" if profit < 0 else "good",
    )


def _coverage(history: HistoryRecord) -> str:
    count = len(history.entries)
    if not history.everything:
        return f"{count} entries in the part you asked for · all of it: zuno history"
    owned = money(Fraction(history.total).limit_denominator(10**_PLACES), _USD)
    return f"{count} entries, adding up to the {owned} you own"


def _stories(history: HistoryRecord) -> Iterator[Block]:
    """Pool by pool, each with a sum of its own where it has several positions; then all."""
    if not history.stories:
        return
    ranked = sorted(history.stories, key=_by_pool_and_profit)
    parts = dict(zip(map(id, ranked), bar_parts([story.profit for story in ranked]), strict=True))
    old = any(isinstance(story.per_year, Known) for story in ranked)
    rows: list[Cells] = []
    for _, together in groupby(ranked, key=lambda story: (story.pool, story.pool_id)):
        several = list(together)
        rows += [_story_cells(story, parts[id(story)], yearly=old) for story in several]
        if len(several) > 1:
            rows.append(_sum_cells(f"  {len(several)} in all", several, yearly=old, quiet=True))
    known = [story for story in ranked if isinstance(story.profit, Known)]
    sums = (_sum_cells("all", ranked, yearly=old, quiet=False),) if len(ranked) > 1 else ()
    titles = (
        "POSITION",
        "POOL",
        "PUT IN>",
        "OUT>@100",
        "FEES>@90",
        "NOW>",
        "COSTS>@100",
        "PROFIT>",
    )
    columns = page_columns(*titles, "OF PUT IN>", *(("A YEAR>",) if old else ()))
    yield PageTable(columns, tuple(rows), sums)
    if len(known) < len(ranked):
        reasons: dict[str, list[str]] = {}
        for story in ranked:
            if isinstance(story.profit, Unknown):
                reasons.setdefault(story.profit.reason, []).append(story.story)
        for reason, names in reasons.items():
            yield Words(f"{', '.join(names)}: {reason}")
    yield Words(
        "profit = out + fees + now − put in − costs (network and swaps), each at the price of its "
        "time; now: what is in it or withdrawn, without its fees"
    )


def _by_pool_and_profit(story: StoryRecord) -> tuple[str, str, bool, Fraction]:
    """The best of a pool first, and last those of which nobody knows what they came to."""
    profit = story.profit
    unknown = isinstance(profit, Unknown)
    gained = _NOTHING if isinstance(profit, Unknown) else profit.value
    return story.pool, story.pool_id or "", unknown, -gained


def _profit(story: StoryRecord) -> Quantity[Fraction]:
    return story.profit


def _paid_in(story: StoryRecord) -> Quantity[Fraction]:
    return story.paid_in


_PARTS: tuple[Callable[[StoryRecord], Quantity[Fraction]], ...] = (
    _paid_in,
    lambda story: story.paid_out,
    lambda story: story.fees,
    lambda story: story.now,
    lambda story: story.costs,
)


def _story_cells(story: StoryRecord, part: float | None, *, yearly: bool) -> Cells:
    return (
        PageCell(story.story),
        PageCell(story.pool),
        *(_round(of(story)) for of in _PARTS),
        gain_cell(story.profit, _USD, part),
        _share(story.of_put_in),
        *((_share(story.per_year),) if yearly else ()),
    )


def _sum_cells(name: str, stories: Iterable[StoryRecord], *, yearly: bool, quiet: bool) -> Cells:
    """Of those whose profit is known; another pool is never in it."""
    known = [story for story in stories if isinstance(story.profit, Known)]
    sums = [_sum(known, of) for of in _PARTS]
    profit, paid = _sum(known, _profit), sums[0]
    tone: DrawnTone = "dim" if quiet else "strong"
    gained = gain_cell(Known(profit, ""), _USD)
    return (
        PageCell(name, tone),
        PageCell("" if quiet else _without(stories, known), "dim"),
        *(PageCell(round_usd(float(value)), tone) for value in sums),
        PageCell(gained.text, "dim") if quiet else gained,
        _share(Known(profit / paid, "") if paid else Unknown("nothing was put in")),
        *((PageCell(""),) if yearly else ()),
    )


def _without(stories: Iterable[StoryRecord], known: list[StoryRecord]) -> str:
    left_out = len(list(stories)) - len(known)
    return f"without {left_out}" if left_out else ""


def _sum(
    stories: Iterable[StoryRecord], part: Callable[[StoryRecord], Quantity[Fraction]]
) -> Fraction:
    values = map(part, stories)
    return sum((value.value for value in values if isinstance(value, Known)), _NOTHING)


def _round(value: Quantity[Fraction]) -> PageCell:
    if isinstance(value, Unknown):
        return PageCell("–", "dim")
    return PageCell(round_usd(float(value.value)))


def _share(value: Quantity[Fraction]) -> PageCell:
    if isinstance(value, Unknown):
        return PageCell("–", "dim")
    return PageCell(signed_percent(value.value), "bad" if value.value < 0 else "good")


def _done(history: HistoryRecord) -> Iterator[Block]:
    """A line for each thing that was done, the newest first; of what moves between two accounts,
    the wallet's."""
    groups: dict[tuple[int, str | None, EntryKind, PositionRef | None], list[EntryRecord]] = {}
    for entry in history.entries:
        if entry.kind in _BOTH_SIDES and entry.account is not LedgerAccount.WALLET:
            continue
        if entry.transaction:
            key = entry.time, entry.transaction, entry.kind, entry.position
            groups.setdefault(key, []).append(entry)
    if groups:
        columns = page_columns("TIME (UTC)", "#>", "WHAT", "AMOUNT>", "VALUE THEN>")
        rows = [_done_cells(together) for together in groups.values()]
        yield PageTable(columns, tuple(reversed(rows)))


def _happened(history: HistoryRecord) -> Iterator[Block]:
    """What nobody here did, in sums: prices, trades of others, fees that wait."""
    sums: dict[EntryKind, list[float]] = {}
    for entry in history.entries:
        if not entry.transaction and entry.usd is not None:
            sums.setdefault(entry.kind, []).append(entry.usd)
    if sums:
        columns = page_columns("WITHOUT A TRANSACTION OF YOURS", "ENTRIES>", "VALUE>")
        yield PageTable(columns, tuple(_kind_cells(kind, sums[kind]) for kind in sums))


def _kind_cells(kind: EntryKind, values: list[float]) -> Cells:
    whole = Known(Fraction(round(sum(values) * 100), 100), "")
    name = _WHAT.get(kind, kind.value)
    return PageCell(name), PageCell(str(len(values)), "dim"), gain_cell(whole, _USD)


def _done_cells(together: list[EntryRecord]) -> Cells:
    first, values = together[0], [entry.usd for entry in together]
    known = [value for value in values if value is not None]
    value = PageCell(UNKNOWN, "dim")
    if len(known) == len(values):
        whole = Fraction(round(sum(known) * 10**_PLACES), 10**_PLACES)
        value = gain_cell(Known(whole, ""), _USD)
    quiet = first.kind is EntryKind.GAS
    return (
        PageCell(moment_text(first.time)[:-3], "dim"),
        PageCell("" if first.position is None else position_name(first.position)),
        PageCell(_WHAT.get(first.kind, first.kind.value), "dim" if quiet else "plain"),
        PageCell(
            " + ".join(_amount(entry) for entry in together if entry.amount),
            "dim" if quiet else "plain",
        ),
        value,
    )


def _amount(entry: EntryRecord) -> str:
    if entry.decimals is None:
        return f"{abs(entry.amount)} raw {entry.token}"
    size = abs(entry.amount) / 10**entry.decimals
    return f"{four_digits(size)} {entry.token}"
