"""The desk of a window: what it can be asked is listed here, and everything else is refused.

Nothing in it approves, signs, argues, watches or writes to anybody: the parts that do are not made.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from zuno_tui.catalog.looks import only_shows
from zuno_tui.catalog.old_block import answer_of
from zuno_tui.catalog.registry import registry
from zuno_tui.desk.context import DeskContext
from zuno_tui.desk.details import Details
from zuno_tui.desk.events import Said, ViewAsked
from zuno_tui.desk.pages import Pages, Pools
from zuno_tui.desk.portfolio import PortfolioReader
from zuno_tui.desk.reading import PositionsReader
from zuno_tui.desk.watching import Watching
from zuno_tui.intents.intents import (
    Cancel,
    Help,
    Inspect,
    ListPools,
    Quit,
    Refresh,
    Show,
    ShowPortfolio,
)

if TYPE_CHECKING:
    from chain.rpc.records import Block
    from chain.wallet.secrets import Passphrase
    from zuno_tui.intents.intent import Intent

ONLY_LOOKS = "This window only looks: act at your own desk, where your keys are."
_PANES = frozenset(("positions", "alerts", "plan", "debate"))


def may_be_seen(intent: Intent) -> bool:
    """Whether a window may be asked it."""
    if isinstance(intent, Show):
        return intent.view in _PANES
    if isinstance(intent, Cancel | Help | Quit | Refresh):
        return True
    return only_shows(intent, registry())


class LookingCounter:
    """Takes the looks of a window, where a desk has its dispatcher."""

    def __init__(self, context: DeskContext, positions: PositionsReader) -> None:
        self._context = context
        self._positions = positions
        self._pages = Pages(context)
        self._pools = Pools(context)
        self._details = Details(context)
        self._portfolio = PortfolioReader(context)
        self._watching = Watching(context)
        self._loop: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._loop = asyncio.create_task(self._watching.run(), name="zuno alerts seen")

    async def close(self) -> None:
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.gather(self._loop, return_exceptions=True)

    def check_expiry(self, head: Block) -> None:
        """Nothing is approved here that could lapse."""

    def confirm(self, approval_hash: str, word: str, passphrase: Passphrase | None) -> None:  # noqa: ARG002
        if passphrase is not None:
            passphrase.wipe()
        self._context.tell(Said(ONLY_LOOKS, "warn"))

    async def take_back_approval(self) -> str | None:
        """Nothing is approved here that could be taken back."""
        return None

    async def take(self, intent: Intent) -> None:
        match intent:
            case Show(view=view):
                self._positions.soon()
                self._context.tell(ViewAsked(view))
            case Inspect():
                self._details.inspect(intent)
            case ListPools():
                self._pools.show(intent)
            case ShowPortfolio():
                self._portfolio.show(intent)
            case _:
                command = registry().command_of(intent)
                if command.answer is None:
                    self._context.tell(Said("Only on the command line.", "warn", intent.twin))
                else:
                    self._pages.show(partial(answer_of, command), intent)
