"""`zuno portfolio`: every wallet on every network, in one sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.commands.running.positions import telling_progress
from zuno_tui.shown.answer import CommandAnswer
from zuno_tui.shown.exit_codes import DONE, NETWORK
from zuno_tui.shown.portfolio_report import (
    portfolio_document,
    portfolio_heading,
    portfolio_lines,
)
from zuno_tui.watch.portfolio import read_portfolio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zuno_tui.session.session import Session


async def whole_portfolio(session: Session, wallets: Sequence[str]) -> CommandAnswer:
    whole = await read_portfolio(session, wallets, watch=telling_progress(session))
    seen = any(one.worth is not None for one in whole.entries)
    return CommandAnswer(
        heading=portfolio_heading(whole),
        lines=portfolio_lines(whole),
        document=portfolio_document(whole),
        code=DONE if seen else NETWORK,
    )
