"""The controller: asked through intents, it tells everything as events; it knows no screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Self

from msgspec import Struct, field
from msgspec.structs import replace

from chain.contracts.addresses import shorten_address
from chain.contracts.networks import Address, UnknownNetworkError, network_named
from chain.names.ens import is_name
from chain.positions.overview import Overview
from chain.protocols.reference import PositionRef, position_label, position_name
from chain.rpc.errors import RpcError
from chain.wallet.address_book import change_book, parsed_address, read_book
from chain.wallet.errors import NoSuchWalletError
from chain.wallet.secrets import Passphrase
from zuno_tui.app.portfolio import looked_up, name_words
from zuno_tui.app.session import Session
from zuno_tui.desk.cleaning import clean_record
from zuno_tui.desk.context import DeskContext, DeskOpening, StatusBoard, Tell
from zuno_tui.desk.events import (
    AlertsChanged,
    DebateChanged,
    Event,
    HelpAsked,
    HintChanged,
    OutageChanged,
    PlanChanged,
    PositionsChanged,
    QuitAsked,
    Said,
    SettingsReady,
    StatusChanged,
)
from zuno_tui.desk.jobs import Jobs, fault_words
from zuno_tui.desk.reading import EMBEDDED, LIVE, PositionsReader
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import (
    Cancel,
    ChangeSetting,
    Doctor,
    Help,
    Quit,
    Refresh,
    Show,
    SwitchNetwork,
    UseWallet,
)
from zuno_tui.present.outage import OutageView, endpoint_words
from zuno_tui.present.views import (
    AlertsView,
    PlanView,
    PositionRow,
    PositionsView,
    Standing,
    StatusView,
)
from zuno_tui.present.words import subscription_words
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from zuno_tui.desk.dispatcher import Dispatcher
    from zuno_tui.desk.looking import LookingCounter

_HEAD_START = 2.0
"""Seconds the first read gets before the heavy parts are loaded."""


class Workspace:
    def __init__(self, context: DeskContext, held: AsyncExitStack) -> None:
        self.context = context
        self._held = held
        rhythm = EMBEDDED if context.session.network.clock == "head" else LIVE
        self._rhythm = rhythm
        self.positions = PositionsReader(context, rhythm, self._noticed)
        self.positions.show_remembered()
        self._reading = asyncio.create_task(self.positions.run(), name="zuno positions")
        self._loading = asyncio.create_task(self._load(), name="zuno loading")
        self._following = asyncio.create_task(self._follow_heads(), name="zuno heads")

    @classmethod
    async def open(cls, opening: DeskOpening, session: Session, tell: Tell) -> Workspace:
        wallet = session.address
        # Whoever is current may change elsewhere; this post stays with whom it was opened for.
        session = replace(session, settings=replace(session.settings, address=wallet))
        named = _named(session, wallet)
        looks = ", looking" if opening.looks_only else ""
        network = f"{session.network.title}{looks}"
        view = StatusView(network=network, wallet=named, demo=opening.demo)
        async with AsyncExitStack() as stack:
            sources = await stack.enter_async_context(session.sources())
            status = StatusBoard(view, tell)
            jobs = Jobs(tell, status.show_jobs)
            context = DeskContext(opening, session, wallet, sources, tell, jobs, status)
            return cls(context, stack.pop_all())

    async def counter(self) -> Dispatcher | LookingCounter:
        """Where everything but reading is asked for; its parts are heavy and come second."""
        return await asyncio.shield(self._loading)

    async def close(self) -> None:
        tasks = (self._reading, self._loading, self._following)
        for task in tasks:
            task.cancel()
        _, counter, _ = await asyncio.gather(*tasks, return_exceptions=True)
        if not isinstance(counter, BaseException) and counter is not None:
            await counter.close()
        await self.context.jobs.close()
        self.positions.note()
        await self._held.aclose()

    async def _load(self) -> Dispatcher | LookingCounter:
        with suppress(TimeoutError):
            async with asyncio.timeout(_HEAD_START):
                await self.positions.tried.wait()
        counter: Dispatcher | LookingCounter
        if self.context.opening.looks_only:
            from zuno_tui.desk.looking import LookingCounter

            counter = LookingCounter(self.context, self.positions)
        else:
            await asyncio.to_thread(import_module, "zuno_tui.desk.dispatcher")
            from zuno_tui.desk.dispatcher import Dispatcher

            counter = Dispatcher(self.context, self.positions)
        counter.begin()
        return counter

    async def _follow_heads(self) -> None:
        session = self.context.session
        if session.sockets:
            from chain.rpc.new_heads import HeadListener, follow_heads

            listener = HeadListener(
                self.positions.head_announced, self._line_changed, self._rhythm.between_heads
            )
            await follow_heads(session.network, session.sockets, listener)

    def _line_changed(self, fault: RpcError | None) -> None:
        status, tell = self.context.status, self.context.tell
        before = status.view.subscription
        if fault is None:
            status.show_subscription("live")
            if before == "lost":
                tell(Said(subscription_words(None), "good"))
        elif before != "lost":
            status.show_subscription("lost")
            tell(Said(subscription_words(fault.sentence), "warn"))

    def _noticed(self, overview: Overview) -> None:
        loading = self._loading
        if loading.done() and not loading.cancelled() and loading.exception() is None:
            loading.result().check_expiry(overview.wallet.block)


def _named(session: Session, wallet: Address) -> str:
    """By the name the person gave it, where there is one."""
    known = read_book(session.home.keystore).at(wallet)
    return shorten_address(wallet) if known is None else f"{known.name} {shorten_address(wallet)}"


# What is to be typed stands whole on a line of 80 columns: 76 of them are left for a hint.
_READING = "Reading the chain: the demo wallet and a week of its market."
_ARGUING = "Four agents argue. The plan follows in a moment."
_APPROVED = "Nothing is {page.done} yet. To review and {page.verb}: press : and type apply"
_REFUSED = "Nothing was signed: the market moved. Press : and type approve again"
_LAPSED = "The approval lapsed: nothing was signed. Press : and type approve again"
_ORDER_LAPSED = "The approval lapsed: nothing was signed. Give the order again to go on."
_HOLD = "The plan is to keep it: there is nothing to sign. Ask about another position."
_OPEN_NOTHING = "Advice: keep your tokens. There is nothing to sign."
_WORTH_COLLECTING = 100.0
"""Dollars of fees that a plan to keep a position does not pass over."""
_MORE = "Applied. More at the prompt: inspect, create, records, exit drill, help"

_MATTERS: dict[Standing, str] = {
    "out of range": "is out of range: no fees until it is back",
    "near edge": "is near the edge of its range",
    "in range": "is in range",
    "empty": "is empty",
}
_URGENCY: tuple[Standing, ...] = tuple(_MATTERS)
_NEEDS_SOMEBODY = ("out of range", "near edge")


class Guide(Struct, frozen=True):
    """What has happened, as far as the next hint depends on it."""

    urgent: PositionRow | None = None
    """The position that most wants attention."""
    arguing: bool = False
    plan: PlanView | None = None
    applied: bool = False
    closed: bool = False
    """Whether the desk could not be opened: nothing is known of positions then."""
    to_collect: Mapping[PositionRef, str] = field(default_factory=dict)
    """Dollars of fees by position, where collecting is worth a word."""

    def after_event(self, event: Event) -> Guide:
        """The guide after the desk has told something."""
        match event:
            case PositionsChanged(positions):
                rows = positions.rows
                fees = {
                    row.ref: row.fees
                    for row in positions.rows
                    if (row.fees_worth or 0.0) >= _WORTH_COLLECTING
                }
                urgent = _most_urgent(rows) if rows else self.urgent
                return replace(self, urgent=urgent, to_collect=fees)
            case OutageChanged(outage):
                return replace(self, closed=outage is not None and outage.next_at is None)
            case DebateChanged(debate):
                return replace(self, arguing=debate.ended is None)
            case PlanChanged(plan):
                return replace(self, plan=plan, applied=self.applied or _went_well(plan))
        return self

    @property
    def hint(self) -> str:
        if self.closed:
            return ""
        if self.arguing:
            return _ARGUING
        if self.plan is not None and not _went_well(self.plan):
            return _about(self.plan, self.to_collect)
        if self.urgent is None:
            return _READING
        if self.applied and self.urgent.standing not in _NEEDS_SOMEBODY:
            return _MORE
        ref, matter = self.urgent.ref, _MATTERS[self.urgent.standing]
        return f"{position_label(ref)} {matter}. Press r on it for a plan."


def _about(plan: PlanView, to_collect: Mapping[PositionRef, str]) -> str:
    if plan.result is not None:
        return (
            _REFUSED
            if plan.result.state == "refused"
            else "See where things stand: press : and type outbox"
        )
    if plan.approval is not None:
        return _APPROVED.format(page=plan.approval.page)
    if plan.lapsed:
        return _LAPSED if plan.can_approve else _ORDER_LAPSED
    return _about_choice(plan, to_collect)


def _about_choice(plan: PlanView, to_collect: Mapping[PositionRef, str]) -> str:
    if plan.approves:
        return "a, Enter: approve it. Nothing is sent by that."
    chosen = next((option for option in plan.options if option.recommended), None)
    if chosen is None or chosen.candidate is None:
        if plan.ref is None:
            return _OPEN_NOTHING
        if (fees := to_collect.get(plan.ref)) is None:
            return _HOLD
        return f"{fees} to collect: type collect {position_name(plan.ref)}"
    which = "" if plan.ref is None else f" {position_label(plan.ref)}"
    cost = chosen.figures.get("cost", "")
    costs = f", costs {cost}" if cost else ""
    does = chosen.name.replace(" ", ", ", 1)
    return f"a, Enter: approve {does}{which}{costs}"


def _went_well(plan: PlanView | None) -> bool:
    result = None if plan is None else plan.result
    return result is not None and result.done


def _most_urgent(rows: Sequence[PositionRow]) -> PositionRow:
    """By its state; of two alike the one without a hook or a stranger's hand on it."""
    return min(rows, key=lambda row: (_URGENCY.index(row.standing), len(row.notes)))


_SIGNING = "apply"
_READ_ANEW = ("screen.", "monitor.", "telegram.", "webhook.")
"""Settings that the screen draws at once, or the watch reads before every round."""
_MOVES = ("network", "address", "rpc")
"""Settings by which what waits to be asked again would be asked of another wallet or chain."""


class Desk:
    """Use as `async with`; it opens even when nothing can be read, and then says why."""

    def __init__(self, opening: DeskOpening, tell: Callable[[Event], None]) -> None:
        self._opening = opening
        self._heard = tell
        self._session = replace(opening.session, narrate=lambda words: self._tell(Said(words)))
        self._post: Workspace | None = None
        self._guide = Guide()
        self._hint = ""

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self) -> None:
        try:
            self._post = await Workspace.open(self._opening, self._session, self._tell)
        except Exception as error:  # the desk stays open: another network or wallet can be named
            self._tell_not_open(fault_words(error))
        else:
            self._tell(OutageChanged(None))

    def _tell_not_open(self, words: str) -> None:
        session = self._session
        network = session.network
        self._tell(StatusChanged(StatusView(network.title, "not open", trouble=words)))
        view = OutageView(
            f"The desk is not open on {network.title}",
            words,
            endpoint_words(session.settings, network),
            since=self._opening.clock(),
        )
        self._tell(OutageChanged(view))

    async def close(self) -> None:
        post, self._post = self._post, None
        if post is not None:
            await post.close()

    async def ask(self, intent: Intent) -> None:
        """Begin what is asked; it is under way, done or refused when this returns."""
        if self._opening.looks_only:
            from zuno_tui.desk.looking import ONLY_LOOKS, may_be_seen

            if not may_be_seen(intent):
                self._tell(Said(ONLY_LOOKS, "warn", intent.twin))
                return
        try:
            await self._take(intent)
        except Exception as error:  # one request that fails is one line, and the desk goes on
            self._tell(Said(fault_words(error), "bad", intent.twin))

    async def confirm(self, approval_hash: str, word: str, passphrase: Passphrase | None) -> None:
        """The word as it was typed, for what was shown under this hash."""
        if self._post is not None:
            (await self._post.counter()).confirm(approval_hash, word, passphrase)
        elif passphrase is not None:
            passphrase.wipe()

    async def idle(self) -> None:
        """Until nothing that was asked for is under way."""
        if self._post is not None:
            await self._post.counter()
            await self._post.context.jobs.idle()

    async def _take(self, intent: Intent) -> None:
        match intent:
            case Help(topic=topic):
                self._tell(HelpAsked(topic))
            case Quit():
                self._tell(QuitAsked())
            case Show(view="settings"):
                self._show_settings()
            case ChangeSetting(name=str() as place):
                await self._change(place, intent)
            case SwitchNetwork():
                await self._move(self._on_network(intent), intent)
            case UseWallet():
                await self._move(await self._with_wallet(intent), intent)
            case Refresh() if self._post is None:
                await self.open()
            case Doctor() if self._post is None:
                await self._examine(intent)
            case _ if self._post is None:
                self._tell(Said("The desk is not open. Try again: refresh", "warn", intent.twin))
            case Refresh():
                self._post.positions.soon()
            case Cancel():
                await self._cancel(intent, self._post)
            case _:
                await (await self._post.counter()).take(intent)

    async def _cancel(self, intent: Cancel, post: Workspace) -> None:
        words, jobs = "Nothing is running. To end a standing order: orders", post.context.jobs
        if ended := jobs.cancel(intent.job):
            words = f"Ended: {', '.join(ended)}."
        elif jobs.is_running(_SIGNING):
            words = "A sent transaction cannot be cancelled here. See: outbox"
        elif intent.job is None:
            words = await (await post.counter()).take_back_approval() or words
        self._tell(Said(words, twin=intent.twin))

    async def _move(self, session: Session, intent: SwitchNetwork | UseWallet) -> None:
        """Leave one post for another, unless the other names no wallet or endpoint."""
        if self._post is not None and self._post.context.jobs.is_running(_SIGNING):
            self._tell(Said("A transaction is being sent: wait for it.", "warn"))
            return
        # Each says in its own words that there is none, and then the old post still stands.
        if session.address and session.endpoints:
            await self._open_as(session)
        self._tell(Said(f"The desk is on {session.network.title} now.", "good", intent.twin))

    async def _change(self, place: str, intent: ChangeSetting) -> None:
        """Where the desk must open anew for it, nothing may be under way."""
        from zuno_tui.app.setting import session_after
        from zuno_tui.app.settings_rows import change_words

        opening = self._opening
        views = () if self._post is None else self._post.context.jobs.views
        waiting = [job for job in views if job.again is not None and not place.startswith(_MOVES)]
        jobs = [job for job in views if job.asked and job not in waiting]
        anew = not place.startswith(_READ_ANEW)
        if anew and jobs:
            words = f"{jobs[0].name} is under way: wait for it, or cancel. Nothing was changed."
            self._tell(Said(words, "warn", intent.twin))
            return
        session = session_after(self._session, opening.environment, place, intent.value or "")
        if anew:
            await self._open_as(session)
            for job in waiting:
                if isinstance(job.again, Intent):
                    await self._take(job.again)
        self._session = session
        self._show_settings()
        words, counts = change_words(
            session, opening.environment, place, by_flags=opening.by_flags, demo=opening.demo
        )
        self._tell(Said(words, "good" if counts else "warn", intent.twin))

    async def _open_as(self, session: Session) -> None:
        """Leave the desk as it is, and open it with what holds now."""
        before = self._session
        await self.close()
        self._session = session
        if (session.network, session.settings.address) != (before.network, before.settings.address):
            self._tell(PositionsChanged(PositionsView()))
            self._tell(AlertsChanged(AlertsView()))
        self._tell(PlanChanged(None))
        await self.open()

    async def _examine(self, intent: Doctor) -> None:
        """What a desk that is not open can still be told: why, and what is missing."""
        from zuno_tui.app.doctor import run_doctor
        from zuno_tui.desk.pages import page_of

        now = self._opening.clock()
        self._tell(
            await page_of(lambda session, _: run_doctor(session), self._session, intent, now)
        )

    def _show_settings(self) -> None:
        from zuno_tui.app.settings_rows import setting_rows

        opening = self._opening
        rows = setting_rows(self._session, opening.environment, opening.by_flags, demo=opening.demo)
        self._tell(SettingsReady(rows, str(self._session.home.settings)))

    def _on_network(self, intent: SwitchNetwork) -> Session:
        try:
            network = network_named(intent.name)
        except UnknownNetworkError as error:
            raise SettingsError(str(error)) from error
        settings = replace(self._session.settings, network=network.name)
        return replace(self._session, settings=settings, network=network)

    async def _with_wallet(self, intent: UseWallet) -> Session:
        keystore = self._session.home.keystore
        try:
            address = read_book(keystore).find(intent.wallet).address
            change_book(keystore, lambda book: book.with_current(address))
        except NoSuchWalletError:
            address = await self._address(intent.wallet)
        return replace(self._session, settings=replace(self._session.settings, address=address))

    async def _address(self, text: str) -> Address:
        if not is_name(text):
            return parsed_address(text)
        found = await looked_up(text, self._session.settings, self._session.network)
        self._tell(Said(name_words(found), "good" if found.reverse == found.name else "warn"))
        return found.address

    def _tell(self, event: Event) -> None:
        self._heard(clean_record(event))
        if self._opening.demo:
            self._guide = self._guide.after_event(event)
            if self._guide.hint != self._hint:
                self._hint = self._guide.hint
                self._heard(HintChanged(self._hint))
