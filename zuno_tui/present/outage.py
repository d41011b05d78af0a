"""An endpoint that cannot be read: what happened, which, since when, and what is still known."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.clean_text import shortened_urls
from chain.base.units import age_text

if TYPE_CHECKING:
    from chain.contracts.networks import Network
    from zuno_tui.settings import Settings


_MINUTE = 60


class OutageView(Struct, frozen=True):
    title: str
    happened: str
    endpoints: str
    """Whom they name, never a key; empty where it is not about them."""
    since: float
    tries: int = 1
    next_at: float | None = None
    """When it is tried again; None where somebody has to change something first."""
    known_at: float | None = None
    """From when what is shown is; None where nothing was read yet."""


def endpoint_words(settings: Settings, network: Network) -> str:
    """The endpoints of a network, each by what may be shown of it."""
    return ", ".join(map(shortened_urls, settings.endpoints_for(network))) or "none is set"


def outage_facts(view: OutageView, now: float) -> tuple[tuple[str, str], ...]:
    """What a card says below what happened, each with its label."""
    tried = f", tried {view.tries} times" if view.tries > 1 else ""
    following = "" if view.next_at is None else "; retrying"
    known = (
        "nothing was read yet"
        if view.known_at is None
        else f"as of {_clock_time(view.known_at)}, {_age(now - view.known_at)} ago"
    )
    facts = (
        ("endpoint", view.endpoints),
        ("since", f"{_clock_time(view.since)}, {_age(now - view.since)}{tried}{following}"),
        ("shown", known),
    )
    return tuple((label, words) for label, words in facts if words)


def _age(seconds: float) -> str:
    return "less than a minute" if seconds < _MINUTE else age_text(int(seconds))


def _clock_time(second: float) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%H:%M} UTC"
