"""A Safe's transactions, as the rest of the app finds them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from zuno_tui.app.feature import PlanFlow
from zuno_tui.desk.feature import DeskFeature, DeskPart

if TYPE_CHECKING:
    from zuno_tui.app.feature import Approver
    from zuno_tui.app.session import Session
    from zuno_tui.desk.approvals import EmbeddedMarket
    from zuno_tui.desk.card import Card
    from zuno_tui.desk.context import DeskContext
    from zuno_tui.desk.questions import Questions


def _plan_flow() -> PlanFlow:
    from zuno_tui.features.safe.answers import apply_run, approve_plan, refuse_replay, show_plan

    return PlanFlow("chain.safe", show_plan, approve_plan, apply_run, refuse_replay)


def _approves(session: Session) -> Approver | None:
    from chain.wallet.address_book import KeyStorage, read_book

    wallet = read_book(session.home.keystore).at(session.address)
    if wallet is None or wallet.keeping is not KeyStorage.SAFE:
        return None
    from zuno_tui.features.safe.answers import propose_and_answer

    return partial(propose_and_answer, session)


def _desk_part(
    context: DeskContext, market: EmbeddedMarket | None, questions: Questions, card: Card
) -> DeskPart:
    from zuno_tui.features.safe.desk_part import SafeSignatures

    return SafeSignatures(context, market, questions, card)


FEATURE = DeskFeature(
    name="safe",
    flow="safe",
    plan_flow=_plan_flow,
    approves=_approves,
    desk_part=_desk_part,
)
