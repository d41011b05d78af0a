"""The portfolio: every wallet on every network, with what it earned, told as it is read."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from chain.base.store import Store, read_as
from chain.base.units import DAY, HOUR
from chain.protocols.reference import stored_position
from zuno_tui.app.earned import WalletEarnings, read_whole_earnings
from zuno_tui.app.portfolio_view import STRETCHES, portfolio_view
from zuno_tui.app.positions import reading_progress
from zuno_tui.desk.context import DeskContext
from zuno_tui.desk.events import PortfolioChanged
from zuno_tui.desk.jobs import Progress
from zuno_tui.intents.intents import ShowPortfolio
from zuno_tui.present.glance import DayGain, EtherSample
from zuno_tui.present.past_day import MILLION, HourGain
from zuno_tui.present.portfolio import EarnedRow, PortfolioView

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
_JOB = "portfolio"


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
        await read_whole_earnings(session, (), STRETCHES, show_wallet, reading_progress(progress))
        self._tell(portfolio_view(tuple(found.values()), unit, ""))

    def _tell(self, view: PortfolioView) -> None:
        self._view = view
        self._context.tell(PortfolioChanged(view))
