"""What a desk knows beside the chain: hooks its person allows, what it did and what came of it."""

from collections.abc import Iterator

from agents.bus.plan_store import DamagedPlanError, NoSuchPlanError, PlanStore
from agents.lp.facts import AdviceRecord, DeskMemory, EarlierAdvice, KeepGoal
from agents.lp.payloads import FlowCreateStart, FlowStart
from agents.lp.plan_document import plan_in
from agents.scorecard.score import AdviceKind, ScoreStore
from agents.scorecard.track_record import record_of
from chain.contracts.networks import NATIVE
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.receipts import minted_positions
from chain.positions.overview import Sources
from chain.rpc import requests
from chain.rpc.records import Block, Receipt
from chain.tokens.pair import Pair
from chain.tokens.token import Token
from zuno_tui.app.plans import signed_plans
from zuno_tui.app.range import own_range_of, pair_of_position
from zuno_tui.app.session import Session
from zuno_tui.gate.limits import gate_limits
from zuno_tui.prompt.dates import read_day
from zuno_tui.settings import SettingsError

LONG = "long"
"""Stands for the token whose price the pair tells."""


async def keep_goal_of(sources: Sources, token_id: int, words: tuple[str, str]) -> KeepGoal:
    pair, block = await pair_of_position(sources, token_id)
    named, day = words
    until = read_day(day, block.timestamp) if day else None
    if day and (until is None or until <= block.timestamp):
        raise SettingsError(
            f"{day!r} is not a day in the future. Like: --until 2027-03-01 or --until March"
        )
    return KeepGoal(token=_token(sources, pair, named).address, until=until)


def _token(sources: Sources, pair: Pair, named: str) -> Token:
    if named.lower() == LONG:
        return pair.base
    ether = (NATIVE, sources.network.wrapped_native)
    for token in (pair.base, pair.quote):
        also = sources.network.native_symbol.lower() if token.address in ether else ""
        if named.lower() in (token.label.lower(), token.address.lower(), also):
            return token
    raise SettingsError(
        f"The position holds {pair.base.label} and {pair.quote.label}. Keep one of them: "
        f"--keep {pair.base.label}"
    )


_RECENT = 24
"""How many of the newest transactions are looked at: a day between actions leaves few."""

_MOST_EARLIER = 3
_KINDS = (AdviceKind.MOVE, AdviceKind.HOLD, AdviceKind.EXIT)
_CREATE_KINDS = (AdviceKind.CREATE, AdviceKind.KEEP)


async def with_desk_knowledge(
    session: Session, sources: Sources, start: FlowStart | FlowCreateStart
) -> FlowStart | FlowCreateStart:
    """The start of a debate with what only this home knows."""
    limits = gate_limits(session.settings.limits, session.network)
    holding = isinstance(start, FlowStart)
    known: dict[str, object] = {
        "allowed_hooks": tuple(sorted(limits.allowed_hooks)),
    }
    earlier: tuple[EarlierAdvice, ...] = ()
    if isinstance(start, FlowStart):
        known["last_action_time"] = await last_action_time(session, sources, start.token_id)
        earlier = tuple(_earlier_advice(session, sources, start.token_id))
        if start.own_prices is not None:
            known["own_range"] = await own_range_of(sources, start.token_id, start.own_prices)
        if start.keep_words is not None:
            known["keep"] = await keep_goal_of(sources, start.token_id, start.keep_words)
    records = tuple(_records(sources, _KINDS if holding else _CREATE_KINDS))
    known["memory"] = DeskMemory(earlier_advice=earlier, advice_records=records)
    return start.model_copy(update=known)


def _records(sources: Sources, kinds: tuple[AdviceKind, ...]) -> Iterator[AdviceRecord]:
    """How this network's plans of each kind did, of those that were judged."""
    scores = ScoreStore(sources.store, sources.network.chain_id, sources.clock).scores()
    for kind in kinds:
        found = record_of(kind, scores)
        if found is not None:
            beat, judged, *_ = found.beaten
            yield AdviceRecord(kind=kind.value, days=found.days, beat=beat, judged=judged)


def _earlier_advice(session: Session, sources: Sources, token_id: int) -> Iterator[EarlierAdvice]:
    """What was advised for the position before; a plan that cannot be read is no advice."""
    sent = signed_plans(session)
    for document in PlanStore(session.home.plans).about(token_id, _MOST_EARLIER):
        try:
            plan = plan_in(document)
        except (DamagedPlanError, NoSuchPlanError):
            continue
        if plan.chain_id == sources.network.chain_id:
            yield EarlierAdvice(
                time=plan.time, choice=plan.choice.kind, carried_out=plan.plan_id in sent
            )


async def last_action_time(session: Session, sources: Sources, token_id: int) -> int | None:
    """The time of the block in which a plan of this home made the position.

    Moving a position makes a new one, so its own beginning is the last thing that was done to it
    or to the one it was made of.
    """
    if not session.home.outbox.exists():
        return None
    with Outbox.open(session.home.outbox) as outbox:
        # By hash, not by the journal's state: what was sent may be in a block nobody looked for.
        sent = [
            (dispatch.sender, version.transaction.hash)
            for dispatch in outbox.dispatches()
            if dispatch.chain_id == sources.network.chain_id
            for step in dispatch.steps
            for version in step.versions
        ][-_RECENT:]
    receipts = await sources.client.settle([requests.receipt(sent_hash) for _, sent_hash in sent])
    for (sender, _), receipt in zip(sent, receipts, strict=True):
        if isinstance(receipt, Receipt) and token_id in minted_positions(
            receipt, sender, sources.network
        ):
            block = await sources.client.ask(requests.block(receipt.block_hash))
            return block.timestamp if isinstance(block, Block) else None
    return None
