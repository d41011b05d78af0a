"""Orders in words: the page they are signed on, the list, and their documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from chain.base.units import DAY, HOUR, time_text
from chain.contracts.addresses import checksummed, shortened
from chain.contracts.networks import Network
from chain.standing_orders.book import KeptOrder
from chain.standing_orders.call import OrderCall, OrderKind, OrderRefusedError, read_call
from chain.standing_orders.order import (
    FeesOver,
    LossOver,
    OrderCondition,
    OutOfRange,
    PricePast,
    StandingOrder,
    StandingProgress,
    StandingState,
)
from zuno_tui.present.output import Json
from zuno_tui.present.transcript import wrapped
from zuno_tui.present.words import amount_of

if TYPE_CHECKING:
    from zuno_tui.features.orders.signing import OrderDraft


def length_text(seconds: int) -> str:
    for unit, name in ((DAY, "d"), (HOUR, "h"), (60, "min")):
        if seconds >= unit and seconds % unit == 0:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"


def condition_words(condition: OrderCondition) -> str:
    match condition:
        case PricePast(words=words):
            return f"the price is {words}"
        case OutOfRange(seconds):
            return f"it was out of range for {length_text(seconds)}"
        case LossOver(bips):
            return f"it lost more than {bips / 100:g}% against holding"
        case FeesOver(micro_usd, seconds):
            return (
                f"its fees are over ${micro_usd / 1e6:,.2f}, every {length_text(seconds)} at most"
            )


def order_note(condition: OrderCondition) -> str:
    """At a position's row."""
    match condition:
        case PricePast(words=words):
            return " ".join(words.split()[:2])
        case OutOfRange(seconds):
            return f"out of range {length_text(seconds)}"
        case LossOver(bips):
            return f"loss over {bips / 100:g}%"
        case FeesOver():
            return "collects"


def is_below(condition: OrderCondition) -> bool:
    return isinstance(condition, PricePast) and condition.words.startswith("below")


def headline(order: StandingOrder, call: OrderCall) -> str:
    doing = "Close" if call.kind == "close" else "Collect the fees of"
    often = f", up to {call.times} times" if call.times > 1 else ""
    return f"{doing} #{call.token_id} when {condition_words(order.condition)}{often}"


def draft_terms(draft: OrderDraft) -> tuple[tuple[str, str], ...]:
    """What is signed, read out of its bytes."""
    order, call = draft.order, draft.call
    once = "once" if call.times == 1 else f"{call.times} times"
    return (
        ("what", f"{_DOING[call.kind]} #{call.token_id}, {once}, and send everything to you"),
        ("when", f"{condition_words(order.condition)}, for {length_text(order.hold_seconds)}"),
        ("at least", _least(draft)),
        ("until", f"{time_text(call.until)}, then it is void"),
    )


def draft_recipient(draft: OrderDraft) -> str:
    return f"{checksummed(draft.call.recipient)} (you)"


def draft_rows(draft: OrderDraft) -> tuple[tuple[str, str], ...]:
    """What the chain holds it to, and what it cannot."""
    return (
        ("by", _by(draft)),
        ("chain", f"lets that key make this one call and nothing else{_reach(draft)}"),
        ("monitor", _monitor(draft)),
        (
            "needs",
            "this desk or zuno monitor running, with that key: nothing happens while both are off",
        ),
        ("cancel", "order cancel, on chain. Deleting files or stopping zuno ends no order"),
    )


def draft_lines(draft: OrderDraft) -> tuple[str, ...]:
    rows = (*draft_terms(draft), ("to", draft_recipient(draft)), *draft_rows(draft))
    return (
        f"{headline(draft.order, draft.call)} · {draft.plan_id}",
        *(wrapped(f"  {label:<9} {words}", indent=12) for label, words in rows),
        f"  hash      {draft.hash}",
    )


_DOING: dict[OrderKind, str] = {"close": "close", "collect": "collect the fees of"}


def _least(draft: OrderDraft) -> str:
    call = draft.call
    if not any(call.least):
        return "no minimum is signed: you get what is in it then"
    amounts = [
        f"{amount_of(amount, draft.tokens[currency])} {draft.tokens[currency].label}"
        for amount, currency in zip(call.least, call.currencies, strict=True)
    ]
    return f"{amounts[0]} and {amounts[1]}, and the fees besides"


def _by(draft: OrderDraft) -> str:
    key = checksummed(draft.order.signed.delegate)
    if draft.own_key:
        return f"{key}, the watch key: for orders alone, owns nothing"
    return f"{key}, a key made elsewhere: nothing is known of it here but its address"


def _reach(draft: OrderDraft) -> str:
    """Where the chain itself refuses, whoever has the watch key."""
    if not draft.reach:
        return ""
    side = "above" if is_below(draft.order.condition) else "below"
    past = ", where its range ends" if draft.falls_short else ""
    return f", and refuses it {side} {draft.reach}{past}"


def _monitor(draft: OrderDraft) -> str:
    early = ""
    if draft.falls_short:
        side = "below" if is_below(draft.order.condition) else "above"
        past = f", once the price is {side} {draft.reach}" if draft.reach else ""
        early = f"; whoever steals the watch key can do it early{past}, and nothing else"
    if draft.endpoints == 0:
        return f"judges when, by the embedded chain{early}"
    if draft.endpoints == 1:
        return f"judges when, by ONE endpoint, which could be wrong: set a second{early}"
    from_one = isinstance(draft.order.condition, LossOver | FeesOver)
    beside = "; past and prices are read from one" if from_one else ""
    return f"judges when, by two of {draft.endpoints} endpoints that must agree{beside}{early}"


_STATES = {
    StandingState.WAITING: "waiting",
    StandingState.SENT: "being carried out",
    StandingState.DONE: "done",
    StandingState.ENDED: "ended",
}


def order_lines(kept: KeptOrder, network: Network, judged: str) -> Iterator[str]:
    """One for what it is, and under it what there is to say of it."""
    order, progress = kept.order, kept.progress
    try:
        call = read_call(order.signed, network)
    except OrderRefusedError as error:
        yield f"{order.number:>3}  {error}"
        return
    state = _STATES[progress.state]
    if progress.state is StandingState.WAITING and progress.met_at is not None:
        state = "its condition holds"
    ending = "" if not progress.received else f": {' and '.join(progress.received)}"
    yield f"{order.number:>3}  {headline(order, call)} · {state}{ending}"
    until = f"until {time_text(call.until)} · {_last_look(progress)}" if kept.stands else ""
    cancel = f"to end it: order cancel {order.number}" if kept.stands else ""
    yield from (f"     {words}" for words in (until, progress.reason, judged, cancel) if words)


def _last_look(progress: StandingProgress) -> str:
    if progress.looked_at is None:
        return "not looked at yet: it needs zuno or zuno monitor to run with its watch key"
    return f"last look {time_text(int(progress.looked_at))}"


def order_document(kept: KeptOrder, network: Network) -> dict[str, Json]:
    order, progress = kept.order, kept.progress
    call = read_call(order.signed, network)
    return {
        "number": order.number,
        "kind": call.kind,
        "tokenId": str(call.token_id),
        "condition": condition_words(order.condition),
        "state": progress.state.value,
        "reason": progress.reason or None,
        "watchKey": order.signed.delegate,
        "least": [str(amount) for amount in call.least],
        "recipient": call.recipient,
        "until": call.until,
        "times": call.times,
        "done": progress.done,
        "lookedAt": progress.looked_at,
        "transactions": list(progress.results),
        "received": list(progress.received),
        "partner": order.partner,
    }


def attached_line(kept: KeptOrder, call: OrderCall) -> str:
    """Under a list of positions."""
    order = kept.order
    return (
        f"order {order.number} on #{call.token_id}: {headline(order, call).lower()} "
        f"by {shortened(order.signed.delegate)} · zuno order cancel {order.number}"
    )
