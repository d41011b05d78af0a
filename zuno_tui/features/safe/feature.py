"""A Safe's transactions, as the rest of the app finds them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from zuno_tui.catalog.feature import Feature, PlanFlow

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.catalog.feature import Approver


def _plan_flow() -> PlanFlow:
    from zuno_tui.features.safe.answers import apply_run, approved, refuse_replay, shown

    return PlanFlow("chain.safe", shown, approved, apply_run, refuse_replay)


def _approves(session: Session) -> Approver | None:
    from chain.wallet.address_book import KeyStorage, read_book

    wallet = read_book(session.home.keystore).at(session.address)
    if wallet is None or wallet.keeping is not KeyStorage.SAFE:
        return None
    from zuno_tui.features.safe.answers import proposed

    return partial(proposed, session)


FEATURE = Feature(name="safe", flow="safe", plan_flow=_plan_flow, approves=_approves)
