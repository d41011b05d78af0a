"""A run of the trade desk in lines: its verdict, chips, ladder, lamps, cards and conflicts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import TextWrapper
from typing import TYPE_CHECKING, NamedTuple

from chain.exchange.public.surroundings import SOURCE as SIMULATED
from zuno_tui.present.charts import Line, StyledText, plain, side_by_side, thin_bar
from zuno_tui.present.output import cell_width
from zuno_tui.present.views import Tone
from zuno_tui.present.words import dollar_gain

if TYPE_CHECKING:
    from zuno_tui.features.trade.run_parts import (
        ExpertCard,
        FigureTable,
        LadderRow,
        LampState,
        Payoff,
        SourceLamp,
        TradeRunView,
        TradeVerdict,
        VerdictKind,
    )
from zuno_tui.present.charts import DrawnTone

_LAMPS: dict[LampState, StyledText] = {
    "waiting": StyledText("·", "dim"),
    "fresh": StyledText("●", "good"),
    "stale": StyledText("◐", "warn"),
    "missing": StyledText("○", "dim"),
}
_VERDICTS: dict[VerdictKind, tuple[str, DrawnTone]] = {
    "acts": ("★", "strong"),
    "holds": ("■", "strong"),
    "failed": ("✗", "bad"),
}
_BIASES: dict[str, tuple[str, Tone]] = {
    "BULLISH": ("▲", "good"),
    "BEARISH": ("▼", "bad"),
    "NEUTRAL": ("◆", "plain"),
    "": ("…", "dim"),
}
_LEANINGS: dict[str, Tone] = {"risk_on": "plain", "neutral": "plain", "risk_off": "warn"}
_LAMP_GAP = 3
_CARDS_BESIDE = 64
"""The width from which two cards stand beside each other."""
_CARD_GAP = 3
_SEPARATOR = " · "
_FIGURES = 38
_LEFT_TABLE, _TABLES_BESIDE = 68, 110
_LEFT_COLUMN, _COLUMN_GAP, _IN_TWO_COLUMNS = 90, 6, 180
"""What a hedge is stands left of what it does from this width on."""
_NARROWEST_SPAN, _LONGEST_BAR = 16, 54
_EXPERTS_IN_ROWS, _EXPERT, _BIAS = 80, 16, 9
_COUNT = re.compile(r"(?<=\d) (?=(?:bullish|bearish|neutral)\b)")
"""Between a number and what it counts: no line ends there."""
_ORPHAN = 8
_PAPER = "paper"
_CURVE_ROWS, _CURVE_LABEL = 11, 9
NO_MONEY = "PAPER: no real money"
LIQUIDATION = "liquidation"
AT_MARKET = "at the market price"
_WHY_BESIDE = 100
_STAGE, _DECISION, _ALLOCATION, _LEVERAGE, _WORTH = 14, 16, 15, 7, 16


def is_paper(venue: str) -> bool:
    return venue.startswith(_PAPER)


def head_lines(view: TradeRunView, width: int, *, whole: bool = False) -> list[Line]:
    """The verdict and the market it was made in, which stands beside it where there is room.

    The whole of a wide hedge has who argued beside its market, too.
    """
    if view.verdict is None:
        waits = StyledText(f"… {view.working or 'waiting'}", "dim")
        return [(waits,), *chip_lines(view, width)]
    if not _has_beside(view.verdict, width):
        return [*_verdict_lines(view, view.verdict, width), *chip_lines(view, width)]
    half = _LEFT_TABLE + _CARD_GAP if width < _IN_TWO_COLUMNS else _LEFT_COLUMN + _COLUMN_GAP
    if whole and is_in_columns(view, width):
        left = [*chip_lines(view, _LEFT_COLUMN)[1:], (), *_sources_lines(view, _LEFT_COLUMN)]
        argued = ((StyledText("  "), *line) for line in expert_lines(view, width - half - 2))
        right: list[Line] = [(StyledText("EXPERTS", "title"),), *argued]
        below = side_by_side(left, right, _LEFT_COLUMN, _COLUMN_GAP)
        return [*_verdict_lines(view, view.verdict, width), (), *below]
    return _verdict_lines(view, view.verdict, width, chip_lines(view, width - half))


def is_in_columns(view: TradeRunView, width: int) -> bool:
    """Whether all of a hedge that was argued stands in two columns."""
    if view.verdict is None or view.regime is None or width < _IN_TWO_COLUMNS:
        return False
    return _has_beside(view.verdict, width)


def _verdict_lines(
    view: TradeRunView, told: TradeVerdict, width: int, market: Sequence[Line] = ()
) -> list[Line]:
    glyph, tone = _VERDICTS[told.kind]
    # What is only asked for bears no star: a mark says the same as the words beside it.
    on_paper = told.kind == "acts" and is_paper(view.venue)
    paper = f" · {NO_MONEY}" if on_paper else ""
    head = f"{'▸' if told.dissent else glyph} {told.headline}{paper}"
    lines = _words(head, width, tone, indent=2)
    quiet: DrawnTone = "plain" if told.tables else "dim"
    lines += _words(_reason(told), width, tone if told.kind == "failed" else quiet, indent=2)
    # What speaks against a hedge is read before it is approved.
    against = told.against if told.tables else ()
    for caution in filter(None, (told.dissent, *against)):
        first, *more = _words(f"▲ {caution}", width, indent=2)
        lines += [(StyledText("▲", "warn"), StyledText(plain(first)[1:])), *more]
    # What is sent stands before what it changes: it is what is approved.
    in_two = width >= _IN_TWO_COLUMNS and _has_beside(told, width)
    orders = _order_lines(told, _LEFT_COLUMN if in_two else width)
    lines += rest_lines(told, width, orders=orders, market=market)
    if told.against and not against:
        lines += [(), *_against_lines(told, width)]
    if view.progress:
        lines += [(), (StyledText("DONE SO FAR", "title"),)]
        for line in view.progress:
            lines += _words(f"  {line}", width, "good", indent=4)
    return lines


def chart_words(view: TradeRunView) -> str:
    """What a chart is of: what is done, and from where on the account would be empty."""
    if view.verdict is None:
        return view.working or "waiting"
    told = view.verdict
    rows = (row for table in told.tables for row in table.rows if row.name == LIQUIDATION)
    ends = next((f" · {LIQUIDATION} {row.second}" for row in rows), "")
    paper = " · PAPER" if is_paper(view.venue) else ""
    return f"{told.headline}{ends}{paper}"


def outcome_lines(view: TradeRunView, width: int) -> list[Line]:
    """What moves bring and a usual week of a hedge beside each other; then what no page has room
    for: the curve by price, the weeks of the past, and funding by day."""
    tables = () if view.verdict is None else view.verdict.tables
    outcomes = [table for table in tables if table.beside or (_has_bars(table) and not table.large)]
    half = (width - _COLUMN_GAP) // 2
    lines: list[Line] = []
    for table in outcomes:
        drawn = list(table_lines(table, half))
        lines = side_by_side(lines, drawn, half, _COLUMN_GAP) if lines else drawn
    return [*lines, *large_lines(view, width)]


def large_lines(view: TradeRunView, width: int) -> list[Line]:
    """Of a hedge, what only the large chart and the shell show."""
    told = view.verdict
    if told is None or told.payoff is None:
        return []
    title = StyledText("BY PRICE"), StyledText("  ○ not hedged  ● hedged", "dim")
    lines: list[Line] = [(), title, *payoff_lines(told.payoff, width)]
    half = (width - _COLUMN_GAP) // 2
    beside: list[Line] = []
    for table in told.tables:
        if table.large:
            drawn = list(table_lines(table, half))
            beside = side_by_side(beside, drawn, half, _COLUMN_GAP) if beside else drawn
    return [*lines, (), *beside]


def venue_words(venue: str) -> str:
    """A venue of made-up money is called so before anything is sent to it."""
    return f"{venue} · {NO_MONEY}" if is_paper(venue) else venue


def without_orphan(lines: Sequence[Line], height: int) -> list[Line]:
    """A heading that would be the last line in sight goes to the next page with its rows."""
    last = lines[height - 1] if 0 < height < len(lines) else ()
    if not any(piece.tone == "title" for piece in last):
        return list(lines)
    return [*lines[: height - 1], (), *lines[height - 1 :]]


def _order_lines(told: TradeVerdict, width: int) -> list[Line]:
    closing = f"  to close it later: {told.closed_by}" if told.closed_by else ""
    title = StyledText("ORDERS", "title"), StyledText(closing, "dim")
    lines: list[Line] = [title] if told.orders else []
    for place, order in enumerate(told.orders, 1):
        tone: DrawnTone = (
            "warn" if order.startswith("then: ") and order.endswith(AT_MARKET) else "plain"
        )
        lines += _words(f"  {place}. {order}", width, tone, indent=5)
    return lines


def _against_lines(told: TradeVerdict, width: int) -> list[Line]:
    lines: list[Line] = [(StyledText("AGAINST IT", "title"),)]
    for words in told.against:
        lines += _words(f"▲ {words}", width, "warn", indent=2)
    return lines


def _has_beside(told: TradeVerdict, width: int) -> bool:
    return width >= _TABLES_BESIDE and any(table.beside for table in told.tables)


def rest_lines(
    told: TradeVerdict, width: int, *, orders: Sequence[Line] = (), market: Sequence[Line] = ()
) -> list[Line]:
    """The orders, what they change in figures, the market beside those, what is to be known."""
    tables = [table for table in told.tables if not table.large]
    right = [table for table in tables if table.beside]
    bars = [table for table in tables if _has_bars(table)]
    left = [table for table in tables if table not in (*right, *bars)]
    # Under each other: first what moves would bring, and what the account bears.
    blocks = [list(table_lines(table, width)) for table in (*right, *reversed(left), *bars)]
    if _has_beside(told, width):
        in_two = width >= _IN_TWO_COLUMNS
        half, gap = (_LEFT_COLUMN, _COLUMN_GAP) if in_two else (_LEFT_TABLE, _CARD_GAP)
        left, right = (left, [*right, *bars]) if in_two else ([*left, *bars], right)
        first, second = (
            [list(table_lines(table, cells)) for table in tables]
            for tables, cells in ((left, half), (right, width - half - gap))
        )
        if in_two and orders:
            first, orders = [list(orders), *first], ()
        blocks = [side_by_side(_stacked(first), [*_stacked(second), *market], half, gap)]
    lines: list[Line] = []
    for block in (orders, *blocks) if orders else blocks:
        lines += [(), *block]
    if told.lines:
        lines.append(())
    for line in told.lines:
        lines += _words(f"  {line}", width, indent=4)
    return lines


def payoff_lines(payoff: Payoff, width: int, rows: int = _CURVE_ROWS) -> list[Line]:
    """Both as curves over the price: ○ alone, ● hedged; what is marked stands under its price."""
    columns = max(20, min(width - _CURVE_LABEL - 2, 100))
    lowest, highest = payoff.prices[0], payoff.prices[-1]
    every = (*payoff.alone, *payoff.hedged, 0.0)
    bottom, span = min(every), (max(every) - min(every)) or 1.0

    def column(price: float) -> int:
        return round((price - lowest) / (highest - lowest) * (columns - 1))

    def row(dollars: float) -> int:
        return rows - 1 - round((dollars - bottom) / span * (rows - 1))

    grid = [[StyledText(" ")] * columns for _ in range(rows)]
    grid[row(0.0)] = [StyledText("─", "dim")] * columns
    within = [(column(price), name) for price, name in payoff.marks if lowest <= price <= highest]
    for place, _ in within:
        for line in grid:
            line[place] = StyledText("┊", "dim")
    curves: tuple[tuple[tuple[float, ...], str, DrawnTone], ...] = (
        (payoff.alone, "○", "plain"),
        (payoff.hedged, "●", "title"),
    )
    for results, glyph, tone in curves:
        for price, dollars in zip(payoff.prices, results, strict=True):
            grid[row(dollars)][column(price)] = StyledText(glyph, tone)
    drawn: list[Line] = []
    for at, line in enumerate(grid):
        dollars = bottom + span * (rows - 1 - at) / (rows - 1)
        told = at in (0, row(0.0), rows - 1)
        label = dollar_gain(round(dollars)).removesuffix(".00") if told and round(dollars) else ""
        label = "$0" if at == row(0.0) else label
        drawn.append((StyledText(f"{label:>{_CURVE_LABEL}} ", "dim"), *line))
    ends = f"{lowest:,.0f}".ljust(columns - len(f"{highest:,.0f}")) + f"{highest:,.0f}"
    indent = " " * (_CURVE_LABEL + 1)
    drawn.append((StyledText(f"{indent}{ends}", "dim"),))
    names = " · ".join(f"{name} {price:,.0f}" for price, name in sorted(payoff.marks))
    return [*drawn, *_words(f"{indent}┊ {names}", width, "dim", indent=_CURVE_LABEL + 3)]


def _has_bars(table: FigureTable) -> bool:
    return any(row.part is not None for row in table.rows)


def table_lines(table: FigureTable, width: int) -> Iterator[Line]:
    """Two columns of figures under each other, and right of them a bar or a remark."""
    room = width - _FIGURES - max((cell_width(row.beside) for row in table.rows), default=0) - 4
    spans = _spans(table, min(_LONGEST_BAR, room)) if room >= _NARROWEST_SPAN else {}
    legend: Line = ()
    if spans and not (_has_bars(table) and room > 0):
        legend = (
            StyledText("  ○"),
            StyledText(f" {table.first}  ", "dim"),
            StyledText("●", "title"),
            StyledText(f" {table.second}  │ $0", "dim"),
        )
    yield (
        StyledText(f"{table.title:<16}", "title"),
        StyledText(f" {table.first:>10} {table.second:>10}", "dim"),
        *legend,
    )
    for row in table.rows:
        bar_cells = max(0, min(_LONGEST_BAR, room)) if row.part is not None else 0
        drawn = thin_bar(row.part or 0.0, bar_cells)
        yield (
            StyledText(f"  {row.name:<14}", "dim"),
            StyledText(f" {row.first:>10} ", _gain_tone(row.first, "plain")),
            StyledText(f"{row.second:>10}", _gain_tone(row.second, "strong")),
            StyledText(f"  {drawn}" if bar_cells else "", "title" if row.second else "dim"),
            StyledText("  " if row.name in spans else ""),
            *spans.get(row.name, ()),
            StyledText(f"  {row.beside}".rstrip(), "dim"),
        )
    yield from _words(f"  {table.note}", width, "dim", indent=2) if table.note else ()


def _spans(table: FigureTable, cells: int) -> dict[str, Line]:
    """By row, both figures and the nothing between gain and loss, on the table's own scale."""
    pairs = {row.name: row.dollars for row in table.rows if row.dollars is not None}
    every = [0, *(dollars for pair in pairs.values() for dollars in pair)]
    lowest, scale = min(every), (cells - 1) / ((max(every) - min(every)) or 1)

    def place(dollars: int) -> int:
        return round((dollars - lowest) * scale)

    def bar(first: int, second: int) -> Line:
        low, high = sorted((place(first), place(second)))
        line = [StyledText(" ")] * low
        line += [StyledText("─", "dim")] * (high - low + 1)
        line += [StyledText(" ")] * (cells - high - 1)
        line[place(0)] = StyledText("┼" if low < place(0) < high else "│", "dim")
        line[place(first)] = StyledText("○")
        line[place(second)] = StyledText("●", "title")
        return tuple(line)

    return {name: bar(*pair) for name, pair in pairs.items()}


def _gain_tone(figure: str, otherwise: DrawnTone) -> DrawnTone:
    """Of dollars with a sign; what has none is neither gain nor loss."""
    if figure == "$0":
        return "plain"
    return "bad" if figure.startswith("−$") else "good" if figure.startswith("+$") else otherwise


def _reason(told: TradeVerdict) -> str:
    reason = told.reason.rstrip(".")
    if told.kind == "failed":
        return f"  Nothing was judged: {reason}."
    return f"  {reason[:1].upper()}{reason[1:]}."


def chip_lines(view: TradeRunView, width: int) -> list[Line]:
    body = _market_lines(view, width - 2)
    titled: list[Line] = [(), (StyledText("MARKET", "title"),)]
    return [*titled, *((StyledText("  "), *line) for line in body)] if body else []


def _market_lines(view: TradeRunView, width: int) -> list[Line]:
    """The regime with its budget, and what triage found."""
    regime = view.regime
    if view.verdict is not None and regime is None and view.ref is not None:
        return []
    pending = "…" if view.verdict is None else "unknown"
    if regime is None:
        chips: list[StyledText] = [StyledText(f"regime {pending}", "dim")]
    else:
        chips = [StyledText(regime.name, _LEANINGS[regime.leaning])]
        # How large a hedge is, no budget decides.
        if view.ref is None:
            chips.append(StyledText(f"risk budget {regime.budget}", "dim"))
    if view.anomalies is None:
        chips.append(StyledText(f"triage {pending}", "dim"))
    elif not view.anomalies:
        chips.append(StyledText("no anomalies", "dim"))
    else:
        chips += [
            StyledText(f"▲ {anomaly.replace('_', ' ')}", "warn") for anomaly in view.anomalies
        ]
    if view.mark:
        chips.append(StyledText(f"mark {view.mark}"))
    lines = list(_flowed(chips, width))
    if regime is not None:
        words = f"{regime.why.rstrip('.')}. {regime.trust if view.ref is None else ''}".rstrip()
        lines += _words(f"{words[:1].upper()}{words[1:]}", width, "dim")
    return lines


def ladder_lines(view: TradeRunView, width: int) -> list[Line]:
    """Judge, expected value, budget, risk officer and guard, each with before and after."""
    title = _cells(("stage", "decision", "of equity", "lever", "worth"))
    lines: list[Line] = [(StyledText(title.rstrip(), "dim"),)]
    first, *later = view.ladder
    if first.decision == "HOLD" and all(row.decision and not row.took for row in later):
        words = "The judge held. The four stages after it make trades smaller, never larger."
        return _words(words, width, "dim")
    pending = "…" if view.verdict is None else "never asked"
    for row in view.ladder:
        lines += _ladder_row(row, width, pending)
    return lines


def _ladder_row(row: LadderRow, width: int, pending: str) -> Iterator[Line]:
    if not row.decision:
        yield (StyledText(f"{row.stage:<{_STAGE}} {pending}", "dim"),)
        return
    tone: Tone = "bad" if row.stopped else "warn" if row.took else "plain"
    mark = "✗" if row.stopped else "↓" if row.took else "✓"
    words = _cells((row.stage, row.decision, row.allocation, row.leverage, row.worth))
    why = row.why or ("" if row.took else "unchanged" if row.stage != "judge" else "")
    if width >= _WHY_BESIDE:
        yield StyledText(f"{words} {mark} ", tone), StyledText(why, "dim")
        return
    yield (StyledText(f"{words} {mark}", tone),)
    if row.why:
        yield from _words(f"{' ' * _STAGE} {row.why}", width, "dim", indent=_STAGE + 1)


def _cells(cells: Sequence[str]) -> str:
    stage, decision, allocation, leverage, worth = cells
    return (
        f"{stage:<{_STAGE}} {decision:<{_DECISION}} {allocation:>{_ALLOCATION}} "
        f"{leverage:>{_LEVERAGE}} {worth:>{_WORTH}}"
    )


def lamp_lines(view: TradeRunView, width: int) -> list[Line]:
    """Twelve lamps, with an age from a minute on, in as many columns as there is room for."""
    cells = max(len(_lamp_words(lamp)) for lamp in view.lamps) + len("● ")
    columns = max(1, min(6, (width + _LAMP_GAP) // (cells + _LAMP_GAP)))
    rows = -(-len(view.lamps) // columns)
    lines: list[Line] = []
    for row in range(rows):
        pieces: list[StyledText] = []
        for lamp in view.lamps[row::rows]:
            tone: Tone = "plain" if lamp.state == "fresh" else "dim"
            words = f" {_lamp_words(lamp):<{cells - 2 + _LAMP_GAP}}"
            pieces += (_LAMPS[lamp.state], StyledText(words, tone))
        lines.append(tuple(pieces))
    return lines


def _sources_lines(view: TradeRunView, width: int) -> list[Line]:
    title = StyledText("SOURCES", "title"), StyledText(f"  {_freshness(view)}", "dim")
    return [title, *((StyledText("  "), *line) for line in _missing_lines(view, width - 2))]


def _missing_lines(view: TradeRunView, width: int) -> list[Line]:
    """How large a hedge is, no source decides: only what is missing is named."""
    titles = [lamp.title for lamp in view.lamps if lamp.state == "missing"]
    return _words(f"missing: {', '.join(titles)}", width, "dim") if titles else []


def _lamp_words(lamp: SourceLamp) -> str:
    of_now = lamp.age.endswith(" s") and lamp.state == "fresh"
    return lamp.title if of_now else f"{lamp.title} {lamp.age}".rstrip()


def expert_lines(view: TradeRunView, width: int) -> list[Line]:
    """Four rows in fixed columns where there is room, else cards, two beside each other."""
    pending = "… not heard yet" if view.verdict is None else "never asked"
    if width >= _EXPERTS_IN_ROWS:
        return [line for card in view.experts for line in _expert_row(card, width, pending)]
    if width < _CARDS_BESIDE:
        return _stacked(_card(card, width, pending) for card in view.experts)
    half = (width - _CARD_GAP) // 2
    cards = [_card(card, half, pending) for card in view.experts]
    return _stacked(side_by_side(left, right, half, _CARD_GAP) for left, right in _pairs(cards))


def _expert_row(card: ExpertCard, width: int, pending: str) -> list[Line]:
    """Name, leaning and how sure, and right of them its words under each other."""
    glyph, tone = _BIASES[card.bias]
    name = StyledText(f"{card.title.capitalize():<{_EXPERT}}")
    if not card.bias or card.confidence is None:
        return [(name, StyledText(pending, "dim"))]
    leaning = StyledText(f"{glyph} {card.bias.lower():<{_BIAS}}", tone)
    sure = StyledText(f"{card.confidence:>4.0%} sure  ", "dim")
    left = _EXPERT + 2 + _BIAS + len(sure.text)
    says = _said_lines(card, width - left)
    return side_by_side([(name, leaning, sure)], says, left, 0)


def _said_lines(card: ExpertCard, width: int) -> list[Line]:
    lines = _words(f"sees {card.sees}", width, "warn") if card.sees else []
    lines += _words(card.says, width)
    if card.levels:
        lines += _words(card.levels, width, "dim")
    if not card.by_rules:
        lines.append((StyledText("a model's words", "dim"),))
    return lines


def bias_counts(cards: Iterable[ExpertCard]) -> str:
    """`1 bullish, 1 bearish, 2 neutral`."""
    biases = [card.bias for card in cards]
    counts = ((biases.count(bias), bias.lower()) for bias in ("BULLISH", "BEARISH", "NEUTRAL"))
    return ", ".join(f"{count} {bias}" for count, bias in counts if count)


def is_even(cards: Iterable[ExpertCard]) -> bool:
    """Whether as many see a rise as a fall."""
    biases = [card.bias for card in cards]
    return biases.count("BULLISH") == biases.count("BEARISH") > 0


def _card(card: ExpertCard, width: int, pending: str) -> list[Line]:
    glyph, tone = _BIASES[card.bias]
    title = f"{card.title.capitalize()} "
    if not card.bias or card.confidence is None:
        return [(StyledText(title), StyledText(pending, "dim"))]
    leaning, sure = f"{glyph} {card.bias.lower()} ", f"{card.confidence:.0%} sure"
    lines: list[Line] = [(StyledText(title), StyledText(leaning, tone), StyledText(sure, "dim"))]
    return lines + _said_lines(card, width)


def conflict_lines(view: TradeRunView, width: int) -> list[Line]:
    found = view.conflicts
    if found is None:
        pending = "… not drawn yet" if view.verdict is None else "never drawn"
        return [(StyledText(pending, "dim"),)]
    glyph, tone = _BIASES[found.dominant]
    counts = f" {bias_counts(view.experts)}"
    if is_even(view.experts):
        # Weights lean, but nobody would call that a majority.
        glyph, tone = _BIASES["NEUTRAL"]
        leaning, counts = "split:", f"{counts}; {found.strongest} is surest"
    else:
        leaning = f"leans {found.dominant.lower()}:"
    lines: list[Line] = [(StyledText(f"{glyph} {leaning}", tone), StyledText(counts, "dim"))]
    for agreed in found.agreed:
        lines += _words(f"= {agreed}", width, indent=2)
    for conflict in found.conflicts:
        lines += _words(f"✗ {conflict.between}", width, "warn", indent=2)
        for claim in (conflict.first, conflict.second):
            # What stands beside the expert's name already is not repeated.
            if not any(card.says and claim.endswith(f": {card.says}") for card in view.experts):
                lines += _words(f"  {claim}", width, indent=4)
        lines += _words(f"  tie: {conflict.tiebreaker}", width, "dim", indent=4)
    if not found.conflicts:
        lines += _words("no conflicts between experts", width, "dim")
    return [*lines, *_words(f"? {found.question}", width, indent=2)]


class RunSection(NamedTuple):
    """A part of the run under its heading."""

    title: str
    beside: str
    draw: Callable[[int], list[Line]]
    """In so many cells."""


def sections(view: TradeRunView, *, whole: bool = False) -> tuple[RunSection, ...]:
    """All of it below the verdict and the chips."""
    if view.verdict is not None and view.regime is None and view.ref is not None:
        return ()  # closing a hedge is argued by nobody
    missing = [lamp.title for lamp in view.lamps if lamp.state == "missing"]
    freshness = _freshness(view)
    if view.verdict is not None and view.ref is not None and not whole:
        # How large a hedge is, nobody votes on: who argued stands in the report.
        gaps = f", {len(missing)} missing" if missing else ""
        told = f"{freshness}{gaps} · r: full report"
        return (RunSection("SOURCES", told, lambda width: _missing_lines(view, width)),)
    ladder = RunSection(
        "LADDER", "the decision after each stage", lambda width: ladder_lines(view, width)
    )
    experts = RunSection("EXPERTS", "", lambda width: expert_lines(view, width))
    if view.ref is not None and view.verdict is not None:
        # No source decides either: what they rest on stands beside their name. What they would do
        # stands under the headline.
        gaps = f"; no {', '.join(missing)}" if missing else ""
        return (experts._replace(beside=f"sources: {freshness}{gaps}"),)
    conflicts = RunSection("CONFLICT MAP", "", lambda width: conflict_lines(view, width))
    sources = RunSection("SOURCES", freshness, lambda width: lamp_lines(view, width))
    # How large a hedge is, no stage decides.
    return (*((ladder,) if view.ref is None else ()), experts, conflicts, sources)


def _freshness(view: TradeRunView) -> str:
    fresh = sum(lamp.state == "fresh" for lamp in view.lamps)
    simulated = sum(lamp.source == SIMULATED for lamp in view.lamps)
    made_up = f"; {simulated} {SIMULATED}" if simulated else ""
    return f"{fresh} of {len(view.lamps)} fresh{made_up}"


def _words(text: str, width: int, tone: DrawnTone = "plain", indent: int = 0) -> list[Line]:
    lead = text[: len(text) - len(text.lstrip(" "))]
    wrapper = TextWrapper(
        max(10, width),
        initial_indent=lead,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
    )
    clean = _COUNT.sub("\u00a0", text.strip())
    lines = wrapper.wrap(clean)
    if len(lines) > 1 and len(lines[-1].strip()) < _ORPHAN:
        # A word alone on the last line is given company.
        wrapper.width = max(10, width - _ORPHAN)
        lines = wrapper.wrap(clean)
    return [(StyledText(line.replace("\u00a0", " "), tone),) for line in lines]


def _flowed(chips: Iterable[StyledText], width: int) -> Iterator[Line]:
    """Chips beside each other, and on a new line where they do not fit."""
    line: list[StyledText] = []
    taken = 0
    for chip in chips:
        cells = cell_width(chip.text)
        if line and taken + len(_SEPARATOR) + cells > width:
            yield tuple(line)
            line, taken = [], 0
        if line:
            line.append(StyledText(_SEPARATOR, "dim"))
            taken += len(_SEPARATOR)
        line.append(chip)
        taken += cells
    if line:
        yield tuple(line)


def _stacked(blocks: Iterable[list[Line]]) -> list[Line]:
    lines: list[Line] = []
    for block in blocks:
        if lines:
            lines.append((StyledText(""),))
        lines += block
    return lines


def _pairs(cards: Sequence[list[Line]]) -> Iterator[tuple[list[Line], list[Line]]]:
    for place in range(0, len(cards), 2):
        yield cards[place], cards[place + 1] if place + 1 < len(cards) else []
