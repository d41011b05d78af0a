"""`zuno inspect ID`, `zuno watch-ids ID…`: all that can be known of one, and whose others are."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TypeVar

from agents.lp.advice_words import edge_sentence
from agents.numbers.advice import edge_of
from agents.numbers.rounding import significant
from chain.base.errors import ZunoError
from chain.base.units import Known, Quantity, Unknown, age_text, signed_percent
from chain.contracts.addresses import checksum, shorten_address
from chain.math.liquidity import Amounts
from chain.positions.batch_reader import read_positions
from chain.positions.overview import OnePosition, read_one
from chain.positions.performance import Gains, Performance, read_performance
from chain.prices.price import WorthUnit
from chain.protocols.reference import PositionRef, position_label, position_name
from chain.protocols.registry import protocol_of
from chain.tokens.pair import Pair, pair_of
from zuno_tui.app.pools import read_weeks
from zuno_tui.app.session import Session
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.charts import range_gauge
from zuno_tui.present.position import (
    KeyFigure,
    RangeStanding,
    dollar_prices,
    gain_tone,
    notes,
    performance_document,
    position_document,
    range_state,
    state_words,
    withdrawn_words,
    yearly_fees,
)
from zuno_tui.present.views import Tone
from zuno_tui.present.words import (
    UNKNOWN,
    amount_of,
    fee_text,
    percent,
    short_gain,
    short_worth,
    worth,
    yearly_percent,
)
from zuno_tui.settings.monitor import monitor_settings

T = TypeVar("T")

_LABEL_WIDTH = 14


class MissingPositionError(ZunoError):
    """There is no such position, or there is no longer."""


async def position_answer(session: Session, ref: PositionRef) -> CommandAnswer:
    async with session.sources() as sources:
        position = await read_one(sources, ref, session.settings.unit)
        if position is None:
            label = position_label(ref)
            raise MissingPositionError(
                f"{session.network.title} has no position {label}, or it was burned."
            )
        performance = await read_performance(sources, [position.snapshot])
        pool = position.snapshot.pool
        edge = edge_of((await read_weeks(sources, [pool], unread=True))[pool.pool_id])
    pays = "pays", edge_sentence(edge)
    lines = (*PositionPage(session, position, performance).lines(), pays)
    return CommandAnswer(
        heading=(f"{session.network.title} · block {position.snapshot.block.number:,}",),
        lines=tuple(f"{label:<{_LABEL_WIDTH}}{text}".rstrip() for label, text in lines),
        document={
            "network": session.network.name,
            "chainId": session.network.chain_id,
            "block": position.snapshot.block.number,
            **position_document(
                session.network, position.snapshot, position.tokens, position.prices, position.worth
            ),
            **performance_document(performance, position.snapshot),
            "edge7d": None if isinstance(edge, Unknown) else significant(edge.value),
        },
    )


class PositionPage:
    """One position in words, label by label."""

    def __init__(self, session: Session, position: OnePosition, performance: Performance) -> None:
        self._network = session.network
        self._unit: WorthUnit = session.settings.unit
        self._coin = session.network.native_symbol
        thresholds = monitor_settings(session.settings).thresholds
        self._near_edge = thresholds(session.network.name, position.snapshot.ref).near_edge
        self._one = position
        self._position = position.snapshot
        self._performance = performance
        self._account = performance.accounts[position.snapshot.ref]
        self._daily = performance.daily[position.snapshot.ref]
        key = position.snapshot.pool.key
        self._token0, self._token1 = position.tokens[key.currency0], position.tokens[key.currency1]
        self._pair: Pair = pair_of(
            session.network, self._token0, self._token1, position.snapshot.pool.sqrt_price_x96
        )

    def lines(self) -> Iterator[tuple[str, str]]:
        position, pool = self._position, self._position.pool
        kind = " dynamic" if pool.key.has_dynamic_fee else ""
        yield (
            position_label(position.ref),
            f"{self._pair.name} {fee_text(pool.fee_tier)}{kind} · {self._state()}",
        )
        yield from self._range()
        yield from self._holdings()
        yield from self._since_entry()
        yield from self._pool()
        yield from self._custody()

    def _state(self) -> str:
        return state_words(self.range_standing.state, notes(self._position))

    def _range(self) -> Iterator[tuple[str, str]]:
        pool, identity = self._position.pool, self._position.identity
        ticks = identity.tick_lower, identity.tick_upper
        low, high = self._pair.bounds(*ticks)
        gauge = range_gauge(self._pair.progress(pool.tick, *ticks)).strip()
        yield "range", f"{low} {gauge} {high} {self._unit_of_prices}"
        yield "price", f"{self._pair.price_text(pool.sqrt_price_x96)} {self._unit_of_prices}"
        elsewhere = dollar_prices(self._network, self._position, self._one.tokens, self._one.prices)
        if elsewhere:
            yield "dollars", elsewhere
        told = [str(tick).replace("-", "−") for tick in (*ticks, pool.tick)]
        yield "ticks", f"{told[0]} to {told[1]}, now {told[2]}"

    @property
    def _unit_of_prices(self) -> str:
        return f"{self._pair.quote.label} per {self._pair.base.label}"

    @property
    def range_standing(self) -> RangeStanding:
        position, identity = self._position, self._position.identity
        ticks = identity.tick_lower, identity.tick_upper
        progress = self._pair.progress(position.pool.tick, *ticks)
        return RangeStanding(
            range_state(position, progress, self._near_edge),
            *self._pair.bounds(*ticks),
            progress,
            self._unit_of_prices,
        )

    def key_figures(self) -> Iterator[KeyFigure]:
        """What one looks for first."""
        value, unit = self._one.worth, self._unit
        won = self._gains
        apr = yearly_fees(self._daily, won.fees_a_day, value.principal)
        yield KeyFigure("worth before fees", short_worth(value.principal, unit))
        yield KeyFigure("to collect", short_worth(value.fees, unit))
        yield from (
            KeyFigure("waits", words, "warn")
            for words in withdrawn_words(self._position, value, unit)
        )
        outside = not self._position.in_range
        tone: Tone = "dim" if outside or apr is None else "plain"
        yield KeyFigure("fee APR 24 h", "–" if apr is None else yearly_percent(apr), tone)
        yield KeyFigure("net past 24 h", short_gain(won.net_a_day, unit), gain_tone(won.net_a_day))
        held = won.against_holding
        yield KeyFigure("vs holding", short_gain(held, unit), gain_tone(held))

    def _holdings(self) -> Iterator[tuple[str, str]]:
        position, value = self._position, self._one.worth
        holds = self._both(position.amount0, position.amount1)
        yield "holds", f"{holds} = {worth(value.principal, self._unit)}"
        yield "to collect", self._waits(position.fees, value.fees)
        if isinstance(position.withdrawn, Unknown):
            yield "waits", self._waits(Known(position.collectable, ""), value.waiting)
        elif any(position.withdrawn.value):
            yield (
                "withdrawn",
                f"{self._waits(position.withdrawn, value.withdrawn)}, not collected yet",
            )
        yield "delta", f"{amount_of(position.delta, self._token0)} {self._token0.label}"
        if position.share:
            yield "share", f"{percent(position.share)} of the liquidity that earns fees now"
        else:
            yield "share", "none: out of range, no fees now"

    def _waits(self, amounts: Quantity[Amounts], value: Quantity[Fraction]) -> str:
        if isinstance(amounts, Unknown):
            return f"{UNKNOWN}: {amounts.reason}"
        return f"{self._both(*amounts.value)} = {worth(value, self._unit)}"

    def _since_entry(self) -> Iterator[tuple[str, str]]:
        account, unit = self._account, self._unit
        # Their logs are given at once or not at all.
        listed = protocol_of(self._position.ref).lists_tokens
        if listed and isinstance(account.age_seconds, Unknown):
            yield "since entry", f"{UNKNOWN}: {account.age_seconds.reason}"
            return
        won = self._gains
        yield "opened", f"{_or_reason(account.age_seconds, age_text)} ago"
        yield "put in", self._amounts(account.deposited)
        yield "taken out", self._amounts(account.withdrawn)
        yield "fees earned", self._amounts(account.fees_earned)
        yield "vs holding", short_gain(won.against_holding, unit)
        loss = _or_reason(account.impermanent_loss, signed_percent)
        yield "imp. loss", f"{loss}, before fees"
        yield (
            f"past {age_text(self._daily.measured_seconds)}",
            f"closed hours: fees {worth(won.fees_a_day, unit)} less LVR "
            f"{worth(won.lvr_a_day, unit)} = {short_gain(won.net_a_day, unit)}",
        )
        gas = _or_reason(account.gas, lambda wei: f"{wei / 10**18:.6f} {self._coin}")
        yield "gas spent", f"{gas}, counted in vs holding"

    @property
    def _gains(self) -> Gains:
        prices, ref = self._one.prices, self._position.ref
        return self._performance.gains(ref, self._token1, prices, self._unit)

    def _pool(self) -> Iterator[tuple[str, str]]:
        pool = self._position.pool
        yield "pool", pool.pool_id
        to_one, to_zero = pool.protocol_fee.zero_for_one, pool.protocol_fee.one_for_zero
        if to_one or to_zero:
            yield "protocol fee", f"{fee_text(to_one)} one way, {fee_text(to_zero)} the other"
        for index, sentence in enumerate(pool.hook.sentences):
            yield "" if index else "hook", sentence

    def _custody(self) -> Iterator[tuple[str, str]]:
        custody = self._position.custody
        yield "owner", checksum(custody.owner) if custody.owner else UNKNOWN
        if custody.approved:
            yield "operator", f"{checksum(custody.approved)} may move this position"
        if custody.subscriber:
            yield "subscriber", f"{checksum(custody.subscriber)} can refuse every change"

    def _both(self, amount0: int, amount1: int) -> str:
        return (
            f"{amount_of(amount0, self._token0)} {self._token0.label}"
            f" + {amount_of(amount1, self._token1)} {self._token1.label}"
        )

    def _amounts(self, amounts: Quantity[Amounts]) -> str:
        return _or_reason(amounts, lambda both: self._both(both.amount0, both.amount1))


def _or_reason(value: Quantity[T], words: Callable[[T], str]) -> str:
    return f"{UNKNOWN}: {value.reason}" if isinstance(value, Unknown) else words(value.value)


async def remember_ids(session: Session, refs: Sequence[PositionRef]) -> CommandAnswer:
    wanted = tuple(dict.fromkeys(refs))
    async with session.sources() as sources:
        found = await read_positions(sources.client, sources.network, sources.memory, wanted)
        owners = {ref: found[ref].owner if ref in found else None for ref in wanted}
        mine = [ref for ref, owner in owners.items() if owner == session.address]
        if not mine:
            raise MissingPositionError(
                f"None of these positions belongs to {shorten_address(session.address)} on"
                f" {session.network.title}. Name the owner: --address 0x…"
            )
        sources.memory.remember_named(session.address, mine)
        named = sorted(sources.memory.named_positions(session.address))
    return CommandAnswer(
        heading=(f"{session.network.title} · {shorten_address(session.address)}",),
        lines=(
            *(
                f"{position_label(ref)}  {_whose(owner, session.address)}"
                for ref, owner in owners.items()
            ),
            "From now on yours are read every time: zuno positions",
        ),
        document={
            "network": session.network.name,
            "address": checksum(session.address),
            "positions": [
                {
                    "tokenId": position_name(ref),
                    "owner": None if owner is None else checksum(owner),
                }
                for ref, owner in owners.items()
            ],
            "named": [position_name(ref) for ref in named],
        },
    )


def _whose(owner: str | None, wallet: str) -> str:
    if owner is None:
        return "no position has this number, or it was burned"
    return "yours" if owner == wallet else f"belongs to {shorten_address(owner)}, not shown"
