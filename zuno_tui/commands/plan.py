"""`zuno plan`: a plan that was made, the latest by default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.plan_store import PlanStore
from zuno_tui.session.session import Session
from zuno_tui.shown.plan_card import show_plan

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    session = Session.start(arguments)
    return show_plan(session, PlanStore(session.home.plans).find(arguments.plan_id))
