"""`zuno portfolio`: every wallet on every network, in one sum."""

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb, alone, always
from zuno_tui.intents.intents import ShowPortfolio

COMMAND = Command(
    does="all wallets and networks in one sum",
    group=Group.POSITIONS,
    intent=ShowPortfolio,
    answer=lambda session, intent: app.portfolio_view.whole_portfolio(session, intent.wallets),
    tells_old_block=True,
    verbs=(
        Verb(
            "portfolio",
            alone(
                ShowPortfolio(), "all", "my", "whole", "total", "worth", "everything", "together"
            ),
            does="what every wallet on every network is worth and earned",
            spoken=("show portfolio", "my portfolio", "show my portfolio", "what am i worth"),
        ),
    ),
    suggest=always(ShowPortfolio()),
    key="desk.portfolio",
)
