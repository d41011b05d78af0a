"""`zuno portfolio`: every wallet on every network, in one sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zuno_tui.app.positions import telling_progress
from zuno_tui.app.read_portfolio import read_portfolio
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.exit_codes import DONE, NETWORK
from zuno_tui.present.portfolio_report import portfolio_document, portfolio_heading, portfolio_lines

if TYPE_CHECKING:
    from zuno_tui.app.session import Session


async def whole_portfolio(session: Session, wallets: Sequence[str]) -> CommandAnswer:
    whole = await read_portfolio(session, wallets, watch=telling_progress(session))
    seen = any(one.worth is not None for one in whole.entries)
    return CommandAnswer(
        heading=portfolio_heading(whole),
        lines=portfolio_lines(whole),
        document=portfolio_document(whole),
        code=DONE if seen else NETWORK,
    )
