"""Beside the monitor, once a day: what the pools paid whose swaps somebody has read before."""

import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress

from agents.scorecard.pool_days import PoolDayStore, chains_to_look_at
from chain.base.errors import ZunoError
from chain.base.store import Store, StoreError
from chain.contracts.networks import all_networks
from chain.survey.discovery import SurveyPlan, survey_pools
from zuno_tui.app.pools import read_surveyed
from zuno_tui.app.session import Session, SettingsSource
from zuno_tui.settings import load_settings


def keep_pool_days(chosen: SettingsSource) -> Coroutine[None, None, None] | None:
    """None where nothing is due."""
    now = time.time()
    try:
        store, _ = Store.open(chosen.home.database, now=now)
        with store:
            due = chains_to_look_at(store, now)
            for chain_id in due:
                # Before it is tried: what fails is tried tomorrow, and a week away leaves no gap.
                PoolDayStore(store, chain_id, time.time).record_look()
    except StoreError:
        return None
    return _read(chosen, due) if due else None


async def _read(chosen: SettingsSource, due: Sequence[int]) -> None:
    for network in all_networks():
        if network.chain_id in due:
            with suppress(ZunoError):
                settings = load_settings(chosen.home.settings, chosen.environment, chosen.flags)
                session = Session(chosen.home, settings, network, as_json=True, narrate=_nobody)
                async with session.sources() as sources:
                    survey = await survey_pools(sources, SurveyPlan(every_protocol=True))
                    await read_surveyed(sources, survey.pools, unread=False)


def _nobody(_: str) -> None:
    """The monitor has its own words."""
