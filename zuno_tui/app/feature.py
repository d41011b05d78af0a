"""What a feature adds to the app, which finds it in its folder and knows none by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from zuno_tui.present.attachment import Attachment

if TYPE_CHECKING:
    from argparse import Namespace

    from agents.bus.replay import Record, ReplayReport
    from agents.bus.run import SpokenTurn
    from agents.monitor.heartbeat import Note
    from agents.monitor.rules.features import AttachedWatch, FeatureAlert, FeatureNews
    from chain.base.home import Home
    from chain.contracts.networks import Network
    from chain.contracts.signed_delegation import SignedDelegation
    from chain.positions.overview import Overview, Sources
    from chain.protocols.reference import PositionRef
    from zuno_tui.app.agent_places import Gathering
    from zuno_tui.app.session import Session, SettingsSource
    from zuno_tui.gate.actions.action import Action
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.settings import Settings


_FOLDER = "zuno_tui.features"


class EndedOrder(Struct, frozen=True):
    delegation: SignedDelegation
    words: str


class RunAgain(Struct, frozen=True):
    """A record that was run again."""

    report: ReplayReport
    transcript: Sequence[SpokenTurn]
    plan_id: str | None
    ending: str
    """In a sentence."""


ActionMaker: TypeAlias = "Callable[[Sources], Awaitable[Action]]"
"""Makes an action of the chain as it is when it is read."""

Approver: TypeAlias = "Callable[[ActionMaker], Awaitable[CommandAnswer]]"


class PlanFlow(Struct, frozen=True):
    """Plans that are not about liquidity: who shows, approves, applies and replays them."""

    package: str
    """Where its rules are, as its records name them."""
    show: Callable[[Session, str | None], CommandAnswer]
    approve: Callable[[Session, str | None], Awaitable[CommandAnswer]]
    apply: Callable[[Session, Namespace], int]
    replay: Callable[[Record], Awaitable[RunAgain]]


class Feature(Struct, frozen=True, kw_only=True):
    """Everything here is imported when it is first needed; a command needs its file alone."""

    name: str
    """Of its folder, and of its view at the desk."""
    flow: str = ""
    """As its plans and its records name it."""
    plan_flow: Callable[[], PlanFlow] | None = None
    approves: Callable[[Session], Approver | None] | None = None
    """Who approves for the chosen wallet instead of the gate; None where the gate does."""
    attachment: str = ""
    """What it attaches to positions, as documents name it."""
    attached: Callable[[Session, Sources, Sequence[Overview]], Awaitable[Attachment]] | None = None
    outlives: Callable[[Session, PositionRef], tuple[str, ...]] | None = None
    """What hangs on a position and would stay when it is closed or moved, in words."""
    notes: Callable[[Session], Mapping[PositionRef, str]] | None = None
    """A word at a position's row, by its number."""
    ended_with: Callable[[Session, PositionRef], tuple[EndedOrder, ...]] | None = None
    """Orders signed for a position that fit it no more once its size has changed."""
    remote_agents: Callable[[Session], AbstractAsyncContextManager[Gathering | str]] | None = None
    """A debate's agents elsewhere, or why they cannot be had; empty where none are set up."""
    agents_note: Callable[[Home], str] | None = None
    """For the status line, before anybody was asked."""
    alerts: Callable[[], Mapping[str, FeatureAlert]] | None = None
    """Every kind of alert that it raises."""
    watched: Callable[[Home, Settings, Network], AttachedWatch | None] | None = None
    """What the monitor asks about what it attaches to positions."""
    news: Callable[[Home, Network], Sequence[FeatureNews]] | None = None
    """What the monitor tells of it."""
    headlines: Callable[[Session], Awaitable[tuple[str, ...]]] | None = None
    """What feeds wrote in the last hours, newest first, cleaned; nothing where none is set."""
    obeys: Callable[[Home, str], str] | None = None
    """What words out of the chat that alerts go to do at once, and the answer; empty where these
    words do nothing. They may only hold this machine back."""
    scored: Callable[[Session, Sources], Awaitable[Attachment]] | None = None
    """What it adds to the scorecard."""
    beside_watch: (
        Callable[[SettingsSource, Callable[[Note], None]], Coroutine[None, None, None] | None]
        | None
    ) = None
    """What runs beside the monitor for as long as it is its turn; None where there is nothing."""
    carried_by: Callable[[Home], str] | None = None
    """Who carries out what it left with the monitor, in words; empty where there is nothing."""


@cache
def features() -> tuple[Feature, ...]:
    found = iter_modules(import_module(_FOLDER).__path__)
    return tuple(import_module(f"{_FOLDER}.{module.name}.feature").FEATURE for module in found)


def feature_of_flow(flow: str | None) -> Feature | None:
    """None where it is a debate about liquidity."""
    return next((feature for feature in features() if flow and feature.flow == flow), None)


async def attachments(
    session: Session, sources: Sources, overviews: Sequence[Overview]
) -> tuple[Attachment, ...]:
    """Of these positions, one of each kind that a feature attaches."""
    return tuple(
        [
            await feature.attached(session, sources, overviews)
            for feature in features()
            if feature.attached is not None
        ]
    )


def what_outlives(session: Session, ref: PositionRef) -> tuple[str, ...]:
    """What is left behind when this position is closed, made smaller or moved."""
    found = (feature.outlives for feature in features())
    return tuple(words for tell in found if tell is not None for words in tell(session, ref))


def approver_for(session: Session) -> Approver | None:
    """Who approves for a wallet that does not sign and send by itself."""
    found = (feature.approves for feature in features())
    return next((each for ask in found if ask is not None and (each := ask(session))), None)


def position_notes(session: Session) -> dict[PositionRef, tuple[str, ...]]:
    """Words of features at rows of positions."""
    found: dict[PositionRef, tuple[str, ...]] = {}
    for feature in features():
        for ref, note in ({} if feature.notes is None else feature.notes(session)).items():
            found[ref] = (*found.get(ref, ()), note)
    return found


def obeyed_word(home: Home, words: str) -> str:
    """The answer of the feature that has done as told; empty where none has."""
    told = (feature.obeys(home, words) for feature in features() if feature.obeys is not None)
    return next(filter(None, told), "")


def orders_ended_with(session: Session, ref: PositionRef) -> tuple[EndedOrder, ...]:
    found = (feature.ended_with for feature in features())
    return tuple(order for tell in found if tell is not None for order in tell(session, ref))


def carried_out_by(home: Home) -> str:
    told = (feature.carried_by(home) for feature in features() if feature.carried_by is not None)
    return " ".join(filter(None, told))


def feature_alerts() -> Mapping[str, FeatureAlert]:
    """By kind, all that features may raise."""
    tables = (feature.alerts() for feature in features() if feature.alerts is not None)
    return {kind: alert for table in tables for kind, alert in table.items()}


def unknown_attachments() -> tuple[Attachment, ...]:
    return tuple(Attachment(feature.attachment) for feature in features() if feature.attachment)
