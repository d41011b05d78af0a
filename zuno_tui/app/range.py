"""`zuno range`: one reading of a pool, and what a range of one's own would bring in it."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction

from msgspec import Struct

from agents.lp.evaluation_context import own_ticks
from agents.lp.facts import ObservedPool, ObservedPoolFacts, ScoutContext
from agents.lp.observe import ChainObserver
from agents.lp.plan import Candidate, OwnRange, PricedToken
from agents.numbers.edges import TickRange
from agents.numbers.shapes import ShapeError
from chain.base.units import NumeralError, read_numeral
from chain.contracts.networks import Network, network_named
from chain.contracts.pool_key import PoolId
from chain.math.liquidity import LiquidityError
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.batch_reader import read_positions
from chain.positions.overview import Sources, tokens_at
from chain.protocols.reference import PositionRef, position_label
from chain.protocols.snapshot import PositionSnapshot
from chain.rpc.records import Block
from chain.tokens.pair import Pair, pair_of
from chain.tokens.token import Token
from zuno_tui.app.positions import reading_progress
from zuno_tui.app.session import Session
from zuno_tui.gate.limits import gate_limits
from zuno_tui.intents.intents import ChooseRange, CreatePosition, MovePosition
from zuno_tui.intents.phrase_error import PhraseError
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.document import Units, document
from zuno_tui.present.output import Json, table
from zuno_tui.present.range_form import RangeForm, range_form
from zuno_tui.present.terminal import columns
from zuno_tui.present.views import RangeFigure
from zuno_tui.present.words import fee_text
from zuno_tui.prompt.create_phrase import CreatePhrase, parse_create
from zuno_tui.settings import SettingsError
from zuno_tui.settings.debates import debate_settings

Telling = Callable[[str], None]


async def own_range_of(sources: Sources, ref: PositionRef, prices: tuple[str, str]) -> OwnRange:
    """The prices of a position's pair, in the orientation in which `zuno inspect` writes them."""
    pair, _ = await pair_of_position(sources, ref)
    return range_of_pair(pair, prices)


async def pair_of_position(sources: Sources, ref: PositionRef) -> tuple[Pair, Block]:
    """As `zuno inspect` writes it, and the block at which it was read."""
    snapshot, (token0, token1) = await pool_of_position(sources, ref)
    price = snapshot.pool.sqrt_price_x96
    return pair_of(sources.network, token0, token1, price), snapshot.block


async def pool_of_position(
    sources: Sources, ref: PositionRef
) -> tuple[PositionSnapshot, tuple[Token, Token]]:
    network = sources.network
    found = await read_positions(sources.client, network, sources.memory, [ref])
    snapshot = found.get(ref)
    if snapshot is None:
        raise SettingsError(
            f"There is no position {position_label(ref)} on {network.title}. "
            "See yours: zuno positions",
            "",
        )
    key = snapshot.pool.key
    tokens = await tokens_at(sources, (key.currency0, key.currency1), snapshot.block.hash)
    return snapshot, (tokens[key.currency0], tokens[key.currency1])


def range_of_pair(pair: Pair, prices: tuple[str, str]) -> OwnRange:
    if pair.base.decimals is None or pair.quote.decimals is None:
        raise SettingsError(f"{pair.name} reports no usable decimals, so it has no price.")
    low, high = sorted(map(read_price, prices))
    if low == high:
        raise SettingsError("A range has two different prices. Like: zuno move 7 2900 3300")
    return OwnRange.of_prices(
        PricedToken(pair.base.address, pair.base.decimals),
        PricedToken(pair.quote.address, pair.quote.decimals),
        low,
        high,
    )


def read_price(text: str) -> Fraction:
    try:
        numeral = read_numeral(text.removeprefix("$"))
    except NumeralError as error:
        raise SettingsError(str(error)) from error
    if numeral.digits <= 0:
        raise SettingsError(f"{text!r} is not a price: it must be above zero.")
    return numeral.value


_FEWEST_DIGITS, _MOST_DIGITS = 4, 9
_NAMED_PRICES = re.compile(r",? ?\bbetween \S+ and [^\s,]+")
_COLUMNS = columns("", "NOW>", "YOURS>", "CHANGE>")


async def range_answer(session: Session, asked: ChooseRange) -> CommandAnswer:
    async with session.sources() as sources:
        forms = await read_range_forms(session, sources, asked, os.environ, session.narrate)
    form = forms[0]
    ticks = form.begins
    preview = form.preview(ticks)
    low, high = preview.parts
    heading = (
        form.title,
        f"{preview.low} ({low}) – {preview.high} ({high}) {form.pair.quote.label} per "
        f"{form.pair.base.label}, read at block {form.context.block:,}",
    )
    remarks = [f"▲ {words}" for words in (*preview.objections, preview.trouble) if words]
    twin = "" if preview.trouble else plan_request(form, ticks).twin
    if twin:
        remarks.append(f"Plan it: {twin}")
    return CommandAnswer(
        lines=tuple(_lines((*preview.figures, *preview.amounts))),
        document=_document(form, ticks, session.network, twin),
        heading=heading,
        remarks=tuple(remarks),
    )


async def read_range_forms(
    session: Session,
    sources: Sources,
    asked: ChooseRange,
    environment: Mapping[str, str],
    tell: Telling,
) -> tuple[RangeForm, ...]:
    """A form for the position's pool, or for each pool that could hold what is to be opened."""
    observer = ChainObserver(sources, reading_progress(tell))
    hooks = tuple(sorted(gate_limits(session.settings.limits, session.network).allowed_hooks))
    phrase = None if asked.ref is not None else _phrase(session, asked)
    named = asked.profile if phrase is None or phrase.profile is None else phrase.profile.value
    profile = debate_settings(
        session.settings, environment, profile=named, deterministic=True
    ).profile
    reading = _Reading(session, sources, asked, phrase)
    if asked.ref is not None:
        held = await observer.observe_position(asked.ref, profile)
        context = held.model_copy(update={"allowed_hooks": hooks})
        found = [await reading.form(context, context.observed)]
    elif phrase is not None:
        surveyed = await observer.survey(phrase.goal, session.address, profile)
        creating = surveyed.model_copy(update={"allowed_hooks": hooks})
        pools = enumerate(creating.surveyed_pools)
        found = [await reading.form(creating, pool, place) for place, pool in pools]
    usable = tuple(form for form in found if form is not None)
    if not usable:
        raise SettingsError(
            "A token of this pool reports no usable decimals, so no price can be chosen."
        )
    if not any(usable[0].evaluation.available):
        raise SettingsError(
            f"Position {asked.what} is empty: there is nothing to put into a range."
        )
    return usable


def plan_request(form: RangeForm, ticks: TickRange) -> MovePosition | CreatePosition:
    """What asks for the plan of just this range, in words that anybody can type."""
    prices = chosen_prices(form, ticks)
    if form.ref is not None:
        return MovePosition(form.ref, *prices)
    return CreatePosition(with_prices(form.phrase, prices))


def chosen_prices(form: RangeForm, ticks: TickRange) -> tuple[str, str]:
    """The shortest prices that lead to just this range, the way round a phrase takes them."""
    network = network_named(str(form.context.chain_id))
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1):
        for inverted in (form.pair.inverted, not form.pair.inverted):
            prices = _prices(form, ticks, digits, inverted=inverted)
            if _ticks_of(form, prices, network) == ticks:
                return prices
    raise SettingsError("No pair of prices gives exactly this range: move one edge by a step.")


def with_prices(phrase: str, prices: tuple[str, str]) -> str:
    return f"{phrase} between {prices[0]} and {prices[1]}"


def _ticks_of(form: RangeForm, prices: tuple[str, str], network: Network) -> TickRange | None:
    own: OwnRange | None
    try:
        if form.ref is not None:
            own = range_of_pair(form.pair, prices)
        else:
            own = parse_create(with_prices(form.phrase, prices), network).own_range
        return None if own is None else own_ticks(own, form.evaluation.observed.pool)
    except (ShapeError, PhraseError, SettingsError):
        return None


def _prices(form: RangeForm, ticks: TickRange, digits: int, *, inverted: bool) -> tuple[str, str]:
    exact = [form.pair.price(sqrt_price_at_tick(tick)) for tick in ticks]
    parts = [(price.numerator, price.denominator) for price in exact if price is not None]
    if inverted is not form.pair.inverted:
        parts = [(below, above) for above, below in parts]
    low, high = sorted(Context(prec=digits).divide(Decimal(a), Decimal(b)) for a, b in parts)
    return f"{low.normalize():f}", f"{high.normalize():f}"


def _phrase(session: Session, asked: ChooseRange) -> CreatePhrase:
    words = asked.phrase if asked.prices is None else with_prices(asked.phrase, asked.prices)
    phrase = parse_create(words, session.network)
    if phrase.network != session.network:
        raise SettingsError(
            f"The phrase says {phrase.network.title}, and this is {session.network.title}."
        )
    return phrase


class _Reading(Struct, frozen=True):
    session: Session
    sources: Sources
    asked: ChooseRange
    phrase: CreatePhrase | None

    async def form(
        self, context: ScoutContext, observed: ObservedPool, place: int = 0
    ) -> RangeForm | None:
        """None where a token's decimals are unknown, and with them what a price is."""
        pool = observed.pool
        both = (pool.currency0, pool.currency1)
        tokens = await tokens_at(self.sources, both, context.block_hash)
        token0, token1 = tokens[pool.currency0], tokens[pool.currency1]
        if token0.decimals is None or token1.decimals is None:
            return None
        pair = pair_of(self.session.network, token0, token1, pool.sqrt_price_x96)
        words = "" if self.phrase is None else _without_prices(self.phrase, observed)
        try:
            named = self._named(pair, pool)
        except ShapeError as error:
            raise SettingsError(str(error)) from None
        return range_form(context, pair, phrase=words, pool_index=place, named=named)

    def _named(self, pair: Pair, pool: ObservedPoolFacts) -> TickRange | None:
        own = None if self.phrase is None else self.phrase.own_range
        if self.phrase is None and self.asked.prices is not None:
            own = range_of_pair(pair, self.asked.prices)
        return None if own is None else own_ticks(own, pool)


def _without_prices(phrase: CreatePhrase, observed: ObservedPool) -> str:
    """The phrase for one pool: with its fee, where that can be named, and without a range."""
    words = _NAMED_PRICES.sub("", phrase.understood)
    fixed = observed.pool.fee == observed.pool.lp_fee
    fee = "" if phrase.goal.fee is not None or not fixed else f" {fee_text(observed.pool.fee)}"
    return f"{words}{fee}"


def _lines(figures: Sequence[RangeFigure]) -> list[str]:
    """Columns that say nothing are left out: a range as it is has no change."""
    cells = [(figure.label, figure.now, figure.own, figure.change) for figure in figures]
    said = [place for place in range(len(_COLUMNS)) if any(row[place] for row in cells)]
    rows = [tuple(row[place] for place in said) for row in cells]
    return table([_COLUMNS[place] for place in said], rows)


def _document(form: RangeForm, ticks: TickRange, network: Network, twin: str) -> dict[str, Json]:
    low, high = form.chart(ticks).low, form.chart(ticks).high
    pool = form.evaluation.observed.pool
    try:
        own = form.evaluate_range(ticks).candidate
    except LiquidityError:
        own = None
    return document(
        RangeFigures(
            network.name,
            network.chain_id,
            form.context.block,
            form.ref,
            form.pair.name,
            pool.pool_id,
            form.past[-1][1],
            low,
            high,
            ticks.lower,
            ticks.upper,
            form.evaluation.market.edge_7d,
            None if form.held is None else _outlook(form.held),
            None if own is None else _outlook(own),
            twin or None,
        )
    )


class RangeOutlook(Struct, frozen=True):
    """What a range is expected to do; an unknown figure is None."""

    survives_24h: float | None
    survives_7d: float | None
    fees_a_day_usd: float | None
    fees_a_day_low_usd: float | None
    fees_a_day_high_usd: float | None
    net_7d_usd: float | None
    cost_usd: float | None
    earned_back_hours: float | None
    amount0: Units
    amount1: Units
    swap_in: Units | None
    swap_out: Units | None
    swaps_currency0: bool | None


class RangeFigures(Struct, frozen=True):
    """A range of a pool beside the one that is held."""

    network: str
    chain_id: int
    block: int
    token_id: PositionRef | None
    pair: str
    pool_id: PoolId
    price: float
    low: float
    high: float
    tick_lower: int
    tick_upper: int
    pool_pays_7d: float | None
    held: RangeOutlook | None
    own: RangeOutlook | None
    command: str | None
    """What plans it; None where it cannot be planned."""


def _outlook(candidate: Candidate) -> RangeOutlook:
    survival, swap = candidate.survival, candidate.prep_action
    return RangeOutlook(
        None if survival is None else survival.day,
        None if survival is None else survival.week,
        candidate.fee_yield_24h,
        candidate.fee_low_24h,
        candidate.fee_high_24h,
        candidate.net_7d,
        candidate.cost_usd,
        candidate.break_even_hours,
        candidate.amount0,
        candidate.amount1,
        None if swap is None else swap.amount_in,
        None if swap is None else swap.amount_out,
        None if swap is None else swap.zero_for_one,
    )
