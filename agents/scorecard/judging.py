"""Horizons that are over, read from the chain at one block, judged once and kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from agents.bus.plan_store import DamagedPlanError, NoSuchPlanError, PlanDocument, PlanStore
from agents.lp.facts import key_of
from agents.lp.plan_document import plan_in, was_edited
from agents.scorecard.score import HORIZON_DAYS, HorizonScore, JudgedBlock, ScoreStore
from agents.scorecard.scoring import DecidedPlan, judged_hours, pool_of, score_plan
from chain.contracts.pool_key import PoolId
from chain.history.events import FeeTerms, fee_terms
from chain.history.hour_reader import HourMemory, read_hours
from chain.history.hours import hour_of
from chain.pools.depth import read_states
from chain.read.block_reader import OneBlock
from chain.read.logs import ScanProgress
from chain.rpc import requests
from chain.rpc.errors import RpcError
from chain.rpc.records import Block

if TYPE_CHECKING:
    from chain.positions.overview import Sources


class SkipReason(StrEnum):
    DAMAGED = "its file is damaged"
    OTHER_FLOW = "it is of another flow"
    OTHER_VERSION = "another version of zuno wrote it, or it was changed"
    EDITED = "its file was changed since it was made"
    OTHER_NETWORK = "it was made on another network"
    NOT_ON_CHAIN = "this chain does not have the block or the pool it was made for"


class SkippedPlan(NamedTuple):
    plan_id: str
    reason: SkipReason


class PastPlans(NamedTuple):
    plans: tuple[DecidedPlan, ...]
    skipped: tuple[SkippedPlan, ...]


def past_plans(store: PlanStore, chain_id: int, without: Container[str] = frozenset()) -> PastPlans:
    """Those of this network in the order they were made; files are only looked at."""
    plans, skipped = [], []
    for name, document in store.each(without):
        found = SkipReason.DAMAGED if document is None else _plan(document, chain_id)
        if isinstance(found, SkipReason):
            skipped.append(SkippedPlan(name, found))
        else:
            plans.append(found)
    return PastPlans(tuple(plans), tuple(skipped))


def _plan(document: PlanDocument, chain_id: int) -> DecidedPlan | SkipReason:
    try:
        plan = plan_in(document)
    except NoSuchPlanError:
        return SkipReason.OTHER_FLOW
    except DamagedPlanError:
        return SkipReason.OTHER_VERSION
    if was_edited(plan):
        return SkipReason.EDITED
    if plan.chain_id != chain_id:
        return SkipReason.OTHER_NETWORK
    if plan.recommended.pool_id not in {pool.pool_id for pool in plan.pools}:
        return SkipReason.EDITED
    return DecidedPlan(plan, "rules" if document.get("budget") is None else "model")


_HEADERS = 100
"""Asked for at once; public endpoints refuse much larger batches."""


class NextHorizon(Struct, frozen=True, rename="camel"):
    """A horizon that is not over yet."""

    plan_id: str
    days: int
    over_at: int


class Judged(Struct, frozen=True):
    scores: tuple[HorizonScore, ...]
    """Of this network, whether judged now or before."""
    new: int
    not_yet: tuple[NextHorizon, ...]
    not_on_chain: tuple[str, ...]
    """Plans made at a block, or in a pool, that this chain does not have."""


class _Due(NamedTuple):
    decided: DecidedPlan
    days: int


async def judge_due(
    sources: Sources,
    plans: Sequence[DecidedPlan],
    *,
    watch: Callable[[ScanProgress], None] = lambda _: None,
) -> Judged:
    """Judge every horizon of these plans that is over and was not judged before.

    A score stays unless the chain no longer has the block it was read at.
    """
    head = await sources.client.head()
    store = ScoreStore(sources.store, sources.network.chain_id, sources.clock)
    kept = await _confirmed(sources, store)
    waiting = _unjudged(plans, kept)
    not_yet = [horizon for horizon in waiting if _over_at(horizon) > head.timestamp]
    due = [horizon for horizon in waiting if _over_at(horizon) <= head.timestamp]
    hashes = await block_hashes(sources, {horizon.decided.plan.block for horizon in due})
    here = [
        horizon
        for horizon in due
        if hashes.get(horizon.decided.plan.block) == horizon.decided.plan.block_hash
    ]
    terms = await _terms(sources, head, here)
    readable = [horizon for horizon in here if pool_of(horizon.decided.plan).pool_id in terms]
    scores = await _scores(sources, head, readable, terms, watch)
    store.keep(scores)
    found = {score.plan_id for score in scores}
    lost = {horizon.decided.plan.plan_id for horizon in due} - found
    return Judged(
        scores=(*kept, *scores),
        new=len(scores),
        not_yet=tuple(
            NextHorizon(horizon.decided.plan.plan_id, horizon.days, _over_at(horizon))
            for horizon in not_yet
        ),
        not_on_chain=tuple(sorted(lost)),
    )


def is_any_due(plans: Sequence[DecidedPlan], scores: Sequence[HorizonScore], now: int) -> bool:
    """Whether a horizon is over by the chain's clock that was not judged yet."""
    return any(_over_at(horizon) <= now for horizon in _unjudged(plans, scores))


def _unjudged(plans: Sequence[DecidedPlan], scores: Sequence[HorizonScore]) -> list[_Due]:
    judged = {(score.plan_id, score.days) for score in scores}
    return [
        _Due(plan, days)
        for plan in plans
        for days in HORIZON_DAYS
        if (plan.plan.plan_id, days) not in judged
    ]


def _over_at(due: _Due) -> int:
    return judged_hours(due.decided.plan.time, due.days).end


async def _confirmed(sources: Sources, store: ScoreStore) -> list[HorizonScore]:
    """What was kept, without what was read at blocks that were replaced since."""
    kept = store.scores()
    hashes = await block_hashes(sources, {score.read_at.number for score in kept})
    gone = [score for score in kept if hashes.get(score.read_at.number) != score.read_at.hash]
    store.forget(gone)
    return [score for score in kept if score not in gone]


async def block_hashes(sources: Sources, numbers: Iterable[int]) -> dict[int, str]:
    """Of those blocks the chain has."""
    wanted = sorted(numbers)
    found = {}
    for start in range(0, len(wanted), _HEADERS):
        asked = wanted[start : start + _HEADERS]
        outcomes = await sources.client.settle([requests.block(number) for number in asked])
        for number, outcome in zip(asked, outcomes, strict=True):
            if isinstance(outcome, RpcError):
                raise outcome
            if isinstance(outcome, Block):
                found[number] = outcome.hash
    return found


async def _terms(sources: Sources, head: Block, due: Sequence[_Due]) -> dict[PoolId, FeeTerms]:
    """How the pools share their fees; a pool that does not exist is left out."""
    keys = list(dict.fromkeys(key_of(pool_of(horizon.decided.plan)) for horizon in due))
    if not keys:
        return {}
    here = OneBlock(sources.client, sources.network, head.hash)
    found = await read_states(here, sources.network, keys)
    return {state.pool_id: fee_terms(state) for state in found.states}


async def _scores(
    sources: Sources,
    head: Block,
    due: Sequence[_Due],
    terms: Mapping[PoolId, FeeTerms],
    watch: Callable[[ScanProgress], None],
) -> list[HorizonScore]:
    by_pool: dict[PoolId, list[_Due]] = defaultdict(list)
    for horizon in due:
        by_pool[pool_of(horizon.decided.plan).pool_id].append(horizon)
    scores = []
    memory = HourMemory(sources.store, sources.network, sources.clock)
    read_at = JudgedBlock(head.number, head.hash)
    for pool_id, several in by_pool.items():
        since = min(hour_of(horizon.decided.plan.time) for horizon in several)
        hours = await read_hours(
            sources.client,
            sources.network,
            {pool_id: terms[pool_id]},
            head.timestamp - since,
            memory=memory,
            head=head,
            watch=watch,
        )
        rows = hours[pool_id].rows
        scores += [score_plan(horizon.decided, horizon.days, rows, read_at) for horizon in several]
    return scores
