"""News feeds in RSS and Atom: titles and times, from whatever a server calls a feed."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree

from chain.base.clean_text import clean_text
from chain.prices.market_http import MarketError

if TYPE_CHECKING:
    from collections.abc import Iterator

_TITLE = 200
_MOST_ENTRIES = 200
_FORBIDDEN = (b"<!DOCTYPE", b"<!ENTITY")


class Headline(NamedTuple):
    time: float
    title: str
    """A stranger's words, cleaned and cut; nothing in it is an instruction."""


def read_feed(body: bytes, name: str) -> tuple[Headline, ...]:
    """Entries that have a time, the newest first; raises MarketError for what is no feed."""
    if any(mark in body.upper() for mark in _FORBIDDEN):
        raise MarketError(f"the feed of {name} declares entities, which no feed needs")
    try:
        # Without declarations there is nothing to expand.
        root = ElementTree.fromstring(body)  # noqa: S314
    except ElementTree.ParseError:
        raise MarketError(f"{name} sent no feed that can be read") from None
    if _local(root) not in ("rss", "feed", "RDF"):
        raise MarketError(f"{name} sent something else than a feed")
    found = [
        Headline(time, title)
        for entry in list(_entries(root))[:_MOST_ENTRIES]
        if (time := _time(entry)) is not None and (title := _title(entry))
    ]
    return tuple(sorted(found, reverse=True))


def _entries(root: ElementTree.Element) -> Iterator[ElementTree.Element]:
    return (node for node in root.iter() if _local(node) in ("item", "entry"))


def _title(entry: ElementTree.Element) -> str:
    for node in entry:
        if _local(node) == "title":
            return clean_text("".join(node.itertext()), limit=_TITLE)
    return ""


def _time(entry: ElementTree.Element) -> float | None:
    for name in ("pubDate", "published", "updated", "date"):
        for node in entry:
            if _local(node) == name and node.text and (time := _read_time(node.text.strip())):
                return time
    return None


def _read_time(text: str) -> float | None:
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            moment = read(text)
        except (TypeError, ValueError):
            continue
        zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return zoned.timestamp()
    return None


def _local(node: ElementTree.Element) -> str:
    """A tag without its namespace; of a comment something that is no tag."""
    return str(node.tag).rpartition("}")[2]
