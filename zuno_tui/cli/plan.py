"""`zuno plan`: a plan that was made, the latest by default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.shelf import PlanShelf
from zuno_tui.cli.plan_card import show_plan
from zuno_tui.session import Session

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    return show_plan(session, PlanShelf(session.home.plans).find(arguments.plan_id))
