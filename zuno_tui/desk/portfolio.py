"""The portfolio: every wallet on every network, with what it earned, told as it is read."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from chain.base.store import Store, read_as
from chain.base.units import DAY, HOUR, Known, Quantity, Unknown
from chain.contracts.addresses import shortened
from chain.prices.price import WorthUnit
from chain.protocols.reference import position_label, position_name, stored_position
from zuno_tui.app.earned import (
    PositionEarnings,
    WalletEarnings,
    known_sum,
    read_whole_earnings,
)
from zuno_tui.app.positions import reading_progress
from zuno_tui.catalog.intents import ShowPortfolio
from zuno_tui.desk.context import DeskContext
from zuno_tui.desk.events import PortfolioChanged
from zuno_tui.desk.jobs import Progress
from zuno_tui.present.glance import DayGain, EtherSample
from zuno_tui.present.pages.earned import closed_words
from zuno_tui.present.past_day import MILLION, HourGain
from zuno_tui.present.portfolio import (
    EarnedRow,
    PortfolioView,
    ResultLine,
    idle_row,
    summed_lines,
    wallet_words,
)
from zuno_tui.present.position import gain_tone
from zuno_tui.present.words import UNKNOWN, fee_text, money, short_gain

_NAMESPACE = "ether-hours"
_MOST = 26
"""Hours: a day, and the one in which it began."""


class _KeptSamples(Struct, frozen=True):
    samples: tuple[EtherSample, ...]


class EtherHistory:
    """One sample an hour; the newest is rewritten until its hour is over."""

    def __init__(self, store: Store, key: str) -> None:
        self._store = store
        self._key = key
        kept = read_as(_KeptSamples, store.get(_NAMESPACE, key))
        self._samples = () if kept is None else kept.samples

    @property
    def samples(self) -> tuple[EtherSample, ...]:
        return self._samples

    def after(self, earlier: Sequence[EtherSample]) -> tuple[EtherSample, ...]:
        """What was seen, and before that what others tell of the time nobody watched."""
        begin = self._samples[0].time if self._samples else None
        before = (
            sample for sample in earlier if begin is None or sample.time // HOUR < begin // HOUR
        )
        return (*before, *self._samples)[-_MOST:]

    def add(self, sample: EtherSample, *, now: float) -> None:
        before = self._samples
        # A chain that began anew has no past of its own yet.
        before = tuple(
            earlier_sample for earlier_sample in before if earlier_sample.time <= sample.time
        )
        same_hour = bool(before) and before[-1].time // HOUR == sample.time // HOUR
        self._samples = (*(before[:-1] if same_hour else before), sample)[-_MOST:]
        if not same_hour:
            kept = _KeptSamples(self._samples)
            self._store.put(_NAMESPACE, self._key, to_builtins(kept), now=now)


_HOURS = "position-hours"


class _KeptHours(Struct, frozen=True):
    gains: tuple[tuple[int, int | str, int, int], ...]
    """When it began, the position's name, fees and what prices moved."""


class ClosedHours:
    """What each closed hour of the last day brought: told once, never told otherwise.

    A position that is closed or moved takes nothing of it away.
    """

    def __init__(self, store: Store, key: str) -> None:
        self._store = store
        self._key = key
        kept = read_as(_KeptHours, store.get(_HOURS, key))
        rows = () if kept is None else kept.gains
        gains = (HourGain(begin, stored_position(str(name)), *rest) for begin, name, *rest in rows)
        self._gains = {(gain.begin, gain.ref): gain for gain in gains}

    def day(self, fresh: Sequence[HourGain], end: int, hours: int, *, now: float) -> DayGain | None:
        """Of the 24 hours that ended then; so many of them are known."""
        begin = end - DAY
        known = {(gain.begin, gain.ref): gain for gain in fresh} | self._gains
        known = {key: gain for key, gain in known.items() if begin <= gain.begin < end}
        if known != self._gains:
            self._gains = known
            rows = ((gain.begin, str(gain.ref), gain.fees, gain.moved) for gain in known.values())
            self._store.put(_HOURS, self._key, to_builtins(_KeptHours(tuple(rows))), now=now)
        if not known:
            return None
        fees = sum(gain.fees for gain in known.values())
        moved = sum(gain.moved for gain in known.values())
        every = sorted(known.values(), key=lambda one: one.begin)
        by_hour = tuple(_hour(at, [*some]) for at, some in groupby(every, lambda one: one.begin))
        return DayGain(Fraction(fees + moved, MILLION), Fraction(fees, MILLION), hours, by_hour)


def _hour(begin: int, gains: Sequence[HourGain]) -> tuple[int, Fraction, Fraction]:
    fees = Fraction(sum(gain.fees for gain in gains), MILLION)
    return begin, fees + Fraction(sum(gain.moved for gain in gains), MILLION), fees


_PATIENCE = 1_800.0
_TODAY, _WEEK, _MONTH = 1, 7, 30
_STRETCHES = (_WEEK, _MONTH)
_JOB = "portfolio"
_THOUSAND = 1_000


class PortfolioReader:
    def __init__(self, context: DeskContext) -> None:
        self._context = context
        self._view = PortfolioView(EarnedRow("all", "Total", "…"))

    def show(self, _asked: ShowPortfolio) -> None:
        """What was read before is there at once; then it is read again."""
        self._context.tell(PortfolioChanged(self._view, opens=True))
        if not self._context.jobs.is_running(_JOB):
            words = "Reading every wallet on every network"
            self._context.jobs.start(_JOB, words, self._read, seconds=_PATIENCE)

    async def _read(self, progress: Progress) -> None:
        found: dict[tuple[int, str], WalletEarnings] = {}
        unit = self._context.session.settings.unit

        def show_wallet(earnings: WalletEarnings) -> None:
            found[earnings.entry.network.chain_id, earnings.entry.wallet] = earnings
            self._tell(portfolio_view(tuple(found.values()), unit, "reading what it earned…"))

        context = self._context
        session = replace(context.session, tell_stale=context.tell_stale)
        await read_whole_earnings(session, _STRETCHES, show_wallet, reading_progress(progress))
        self._tell(portfolio_view(tuple(found.values()), unit, ""))

    def _tell(self, view: PortfolioView) -> None:
        self._view = view
        self._context.tell(PortfolioChanged(view))


def portfolio_view(
    wallets: Sequence[WalletEarnings], unit: WorthUnit, reading: str
) -> PortfolioView:
    """One row for all, then each wallet on each network with its positions and its tokens."""
    worths = [wallet.entry.worth for wallet in wallets if wallet.entry.worth]
    inside = _rounded(sum((worth.overview.portfolio.total for worth in worths), Fraction(0)), unit)
    idle = _rounded(sum((worth.idle_value for worth in worths), Fraction(0)), unit)
    owned = _column_money(inside + idle, unit)
    least = "" if all(wallet.entry.whole for wallet in wallets) else "at least "
    parts = f"positions {_column_money(inside, unit)} + wallet {_column_money(idle, unit)}"
    known = [wallet for wallet in wallets if wallet.positions is not None]
    # Until what is closed was read a sum would grow before one's eyes.
    whole = bool(known) and all(wallet.closed is not None for wallet in known)
    together = _EarningsGroup(
        [position for wallet in known for position in _ever(wallet)] if whole else None,
        min((earnings.days for earnings in known), default=0),
        unit,
    )
    missing = [wallet for wallet in wallets if _trouble(wallet)]
    note = f"without {_counted(len(missing), 'wallet')} below" if missing else _unread(known)
    alone = len(wallets) == 1 and not missing
    rows = tuple(row for wallet in wallets for row in _wallet_rows(wallet, unit, alone=alone))
    total = together.row("all", "Total", owned, note)
    return PortfolioView(total, rows, f"{least}{owned} = {parts}", _place(wallets), reading)


def _ever(wallet: WalletEarnings) -> Sequence[PositionEarnings]:
    return (*(wallet.positions or ()), *_over(wallet))


def _over(wallet: WalletEarnings) -> Sequence[PositionEarnings]:
    """Those that are closed; of what was given to another wallet nothing is known for good."""
    closed = () if wallet.closed is None else wallet.closed.positions
    return [each for each in closed if isinstance(each.fees, Known)]


def _unread(wallets: Sequence[WalletEarnings]) -> str:
    """Why closed positions are in no sum, where they are not."""
    told = (wallet.closed.unread for wallet in wallets if wallet.closed is not None)
    return next((f"without closed positions: {why}" for why in told if why), "")


def _place(wallets: Sequence[WalletEarnings]) -> str:
    if len(wallets) == 1:
        (entry,) = (wallet.entry for wallet in wallets)
        return f"{wallet_words(entry)} on {entry.network.title}"
    count = len({wallet.entry.wallet for wallet in wallets})
    networks = len({wallet.entry.network.chain_id for wallet in wallets})
    return f"{_counted(count, 'wallet')} on {_counted(networks, 'network')}"


def _rounded(value: Fraction, unit: WorthUnit) -> Fraction:
    """As it is shown, so that what is shown adds up."""
    return Fraction(round(value)) if unit is WorthUnit.USD and value >= _THOUSAND else value


def _column_money(value: Fraction, unit: WorthUnit) -> str:
    """Without cents from a thousand dollars on: they cost the names their room."""
    if unit is WorthUnit.USD and value >= _THOUSAND:
        return f"${round(value):,}"
    return money(value, unit)


def _column_worth(value: Quantity[Fraction], unit: WorthUnit) -> str:
    return UNKNOWN if isinstance(value, Unknown) else _column_money(value.value, unit)


def _wallet_rows(earnings: WalletEarnings, unit: WorthUnit, *, alone: bool) -> Iterator[EarnedRow]:
    entry = earnings.entry
    key = f"{entry.network.chain_id}/{entry.wallet}"
    owned = UNKNOWN if entry.worth is None else _column_money(entry.worth.total, unit)
    indent = "" if alone else "  "
    if not alone:
        read = None if earnings.closed is None else _ever(earnings)
        group = _EarningsGroup(read, earnings.days, unit)
        name = f"{entry.network.title} · {entry.label or shortened(entry.wallet)}"
        yield group.row(key, name, owned, _trouble(earnings) or _unread([earnings]))
    if entry.worth is not None:
        held = _column_money(entry.worth.idle_value, unit)
        yield idle_row(f"{key}/idle", f"{indent}in the wallet", held)
    for position in earnings.positions or ():
        snapshot = position.snapshot
        label, fee = position_label(snapshot.ref), fee_text(snapshot.pool.fee_tier)
        name = f"{indent}{label} {position.pair} {fee}"
        by_itself = _EarningsGroup([position], earnings.days, unit)
        words = _column_worth(position.worth, unit)
        yield by_itself.row(f"{key}/{position_name(snapshot.ref)}", name, words, _unknown(position))
    if closed := _over(earnings):
        name = f"{indent}{closed_words(len(closed))}"
        yield _EarningsGroup(closed, earnings.days, unit).row(f"{key}/closed", name, "–", "")


class _EarningsGroup(NamedTuple):
    """Positions that are told in one row."""

    positions: Sequence[PositionEarnings] | None
    """None where they were not read."""
    days: int
    """How far back they were."""
    unit: WorthUnit

    def row(self, key: str, name: str, owned: str, note: str) -> EarnedRow:
        if self.positions is None:
            words = UNKNOWN if note else "…"
            return EarnedRow(key, name, owned, words, words, words, words, words, note=note)
        result = known_sum([position.against_holding for position in self.positions])
        lines = [
            (line, float(position.opened))
            for position in self.positions
            if (line := _line(position))
        ]
        return EarnedRow(
            key,
            name,
            owned,
            today=self._fees(_TODAY),
            week=self._fees(_WEEK),
            month=self._fees(_MONTH),
            entry=_column_worth(
                known_sum([position.fees for position in self.positions]), self.unit
            ),
            result=short_gain(result, self.unit),
            tone=gain_tone(result),
            note=note,
            line=summed_lines(lines),
        )

    def _fees(self, count: int) -> str:
        if self.days < count:
            return "…"
        found = [position.earned(count).fees for position in self.positions or ()]
        return _column_worth(known_sum(found), self.unit)


def _line(earnings: PositionEarnings) -> ResultLine | None:
    if isinstance(earnings.unit1, Unknown) or not earnings.path:
        return None
    each = float(earnings.unit1.value)
    values = tuple(float(point.result) * each for point in earnings.path)
    return ResultLine(tuple(float(point.time) for point in earnings.path), values)


def _trouble(earnings: WalletEarnings) -> str:
    return earnings.trouble or earnings.entry.trouble


def _unknown(earnings: PositionEarnings) -> str:
    parts = (earnings.worth, earnings.fees, earnings.against_holding)
    return next((part.reason for part in parts if isinstance(part, Unknown)), "")


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"
