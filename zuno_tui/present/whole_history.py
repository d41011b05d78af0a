"""The histories of several wallets on several networks as values, beside what they sum to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.bookkeeping.results import StoryResult
    from chain.bookkeeping.wallet_history import WalletHistory
    from zuno_tui.present.whole_portfolio import PortfolioEntry


class HistoryChapter(Struct, frozen=True):
    """One wallet on one network."""

    entry: PortfolioEntry
    history: WalletHistory | None
    """None where it could not be read; the entry or `trouble` says why."""
    trouble: str = ""

    def story_of(self, position: int | None) -> str:
        """The name of the story a position belongs to; empty where it is of none."""
        found = (one.story for one in self.stories if position in one.story.token_ids)
        return next((one.name for one in found), "")

    @property
    def stories(self) -> tuple[StoryResult, ...]:
        return () if self.history is None else self.history.results


class HistoryFilter(Struct, frozen=True):
    """Which of it is told; times are Unix seconds, the last one not included."""

    position: int | None = None
    since: int | None = None
    until: int | None = None

    @property
    def tells_all(self) -> bool:
        return self == HistoryFilter()


class WholeHistory(Struct, frozen=True):
    chapters: tuple[HistoryChapter, ...]
    told: HistoryFilter = HistoryFilter()

    @property
    def whole(self) -> bool:
        return all(
            one.entry.whole and one.history is not None and not one.history.gaps
            for one in self.chapters
        )

    def results(self) -> Iterator[tuple[HistoryChapter, StoryResult]]:
        for chapter in self.chapters:
            for result in chapter.stories:
                if self.told.position in (None, *result.story.token_ids):
                    yield chapter, result
