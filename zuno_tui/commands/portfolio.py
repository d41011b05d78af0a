"""`zuno portfolio`: every wallet on every network, in one sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.catalog.intents import ShowPortfolio
from zuno_tui.catalog.possible import always

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer
    from zuno_tui.prompt.remaining import Remaining


async def _answer(session: Session, intent: ShowPortfolio) -> CommandAnswer:
    from zuno_tui.app.portfolio import whole_portfolio

    return await whole_portfolio(session, intent.wallets)


def _read(said: Remaining) -> ShowPortfolio:
    said.end("all", "my", "whole", "total", "worth", "everything", "together")
    return ShowPortfolio()


COMMAND = Command(
    name="portfolio",
    does="every wallet on every network in one sum",
    group=Group.POSITION,
    intent=ShowPortfolio,
    answer=_answer,
    tells_old_block=True,
    verbs=(
        Verb(
            "portfolio",
            _read,
            does="what every wallet on every network is worth and earned",
            spoken=("show portfolio", "my portfolio", "show my portfolio", "what am i worth"),
        ),
    ),
    suggest=always(ShowPortfolio()),
    key="desk.portfolio",
)
