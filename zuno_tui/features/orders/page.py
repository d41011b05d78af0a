"""Orders in words: the page they are signed on, the list, and their documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import UNSET

from chain.base.units import DAY, HOUR, MICRO, UNKNOWN, minute_text, usd
from chain.contracts.addresses import checksum, shorten_address
from chain.execution.plan.protocol import OrderKind
from chain.math.price import format_amount
from chain.protocols.reference import position_label
from chain.standing_orders.book import KeptOrder
from chain.standing_orders.call import OrderCall
from chain.standing_orders.order import (
    FeesOver,
    LossOver,
    OutOfRange,
    PricePast,
    StandingOrder,
)
from chain.standing_orders.seal import is_sealed
from zuno_tui.features.orders.effects import MUCH_OF_POOL, EntryEffects
from zuno_tui.present.views import ApprovalView, PageWords, ReceiptLine, ReceiptView, StepView
from zuno_tui.present.words import amount_of, percent, round_usd

if TYPE_CHECKING:
    from zuno_tui.features.orders.signing import NetworkCost, OrderDraft
    from zuno_tui.present.approval_view import SigningKey


def length_text(seconds: int) -> str:
    for unit, name in ((DAY, "d"), (HOUR, "h"), (60, "min")):
        if seconds >= unit and seconds % unit == 0:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"


def condition_words(order: StandingOrder, call: OrderCall) -> str:
    """Out of what is sealed; of what is not, only what the signed minimum says."""
    if not is_sealed(order, call):
        return "it pays its signed minimum" if any(call.least) else "nobody knows what: not sealed"
    match order.condition:
        case PricePast():
            level = order.level
            return "" if level is None else f"the price is {' '.join(level)}"
        case OutOfRange(seconds):
            return f"it was out of range for {length_text(seconds)}"
        case LossOver(bips):
            return f"it lost more than {bips / 100:g}% against holding"
        case FeesOver(micro_usd, seconds):
            return (
                f"its fees are over ${micro_usd / 1e6:,.2f}, every {length_text(seconds)} at most"
            )


def order_note(order: StandingOrder, call: OrderCall) -> str:
    """At a position's row."""
    if not is_sealed(order, call):
        return "not sealed"
    match order.condition:
        case PricePast():
            level = order.level
            moves = "moves " if call.traits.shifts else ""
            return "" if level is None else f"{moves}{level.side} {level.price}"
        case OutOfRange(seconds):
            return f"out of range {length_text(seconds)}"
        case LossOver(bips):
            return f"loss over {bips / 100:g}%"
        case FeesOver():
            return "compounds" if call.entry else "collects"


def is_below(order: StandingOrder) -> bool:
    return order.level is not None and order.level.side == "below"


def headline(order: StandingOrder, call: OrderCall) -> str:
    often = f", up to {call.times} times" if call.times > 1 else ""
    into = "" if call.target is None else f" into {position_label(call.target)}"
    doing = f"{call.traits.doing} {position_label(call.ref)}{into}"
    return f"{doing} when {condition_words(order, call)}{often}"


ORDER_PAGE = PageWords(
    doing="Sign an order",
    asks="and press Enter to sign. The order then waits",
    over="This is older than ten minutes. Nothing was signed. Ask for the order again.",
    steps=("1 SIGNATURE", "nothing is sent now: the order waits"),
    limits="the chain enforces what comes out, zuno the network cost",
    terms="WHEN, AND WHO CARRIES IT OUT",
    all_terms=True,
)


def order_view(draft: OrderDraft, key: SigningKey, carried: str = "") -> ApprovalView:
    """What is signed, read out of its bytes, beside what the market says now and who watches."""
    call = draft.call
    once = "once" if call.times == 1 else f"up to {call.times} times"
    steps = [f"{_DOES[call.kind].format(position_label(call.ref))} {once}, {_THEN[call.kind]}"]
    steps += [
        _beside(draft, order, beside)
        for order, beside in zip(draft.orders[1:], draft.calls[1:], strict=True)
    ]
    return ApprovalView(
        plan_id=draft.plan_id,
        headline=headline(draft.order, call),
        hash=draft.hash,
        expires_at=draft.approval.expires_at,
        seconds_left=draft.approval.expires_at - draft.now,
        steps=tuple(StepView("order", (), does) for does in steps),
        outcome=(*_meaning(draft), *_jump(draft.order, call), f"! {_NEEDS}"),
        wallet=checksum(call.recipient),
        signs_with=key.words,
        can_sign=key.can_sign,
        needs_passphrase=key.needs_passphrase,
        recipients=(checksum(call.recipient),),
        terms=(
            ("when", _when(draft)),
            ("until", minute_text(call.until)),
            ("sent by", f"{_by(draft)} {carried}".rstrip()),
            (
                "enforced",
                f"On chain only this one call is allowed{_reach(draft)}. "
                f"The wait of {length_text(draft.order.hold_seconds)} is zuno's own.",
            ),
            ("price from", _looks_at(draft)),
            ("cancel", _CANCEL),
        ),
        receipt=_receipt(draft),
        page=ORDER_PAGE,
    )


_NEEDS = "This desk or zuno monitor must run with the watch key, or nothing happens."
_CANCEL = "Type order cancel and sign it. Quitting zuno or deleting files does not cancel it."


def _receipt(draft: OrderDraft) -> ReceiptView:
    """By the gas that is set aside for an order, now and at the highest fee the limits let go."""
    cost, call = draft.network_cost, draft.call
    now, most = (
        None if wei is None or cost.usd_per_wei is None else wei * cost.usd_per_wei
        for wei in (cost.now, cost.wei)
    )
    what: Literal["comes out", "goes in"] = "comes out" if call.entry is None else "goes in"
    each = " each time" if call.times > 1 else ""
    about = UNKNOWN if cost.now is None else f"about {_coins(cost, cost.now)}"
    limit = f"{_coins(cost, cost.wei)}{each}, set in your limits"
    lines = (
        ReceiptLine("give", f"{position_label(call.ref)}, all of it"),
        ReceiptLine("get", _GETS[call.kind](draft)),
        ReceiptLine("network", f"{about}{each}; the watch key pays", usd(now)),
        ReceiptLine("pay", each.strip(), usd(now)),
        ReceiptLine("bound", _LEAST[call.kind](draft), "", what),
        ReceiptLine("bound", limit, f"≤ {usd(most)}" if most is not None else "", "network"),
    )
    shown = lines if call.traits.takes else lines[1:]
    return ReceiptView(shown, swap_cost=0.0, network_cost=now, most_cost=most)


def _coins(cost: NetworkCost, wei: int) -> str:
    return f"{format_amount(wei, 18, 3)} {cost.coin}"


def _meaning(draft: OrderDraft) -> Iterator[str]:
    """What a move leaves behind, said first, and what a thief of the watch key could make of it."""
    effects, level = draft.effects, draft.order.level
    if effects is None:
        return
    if not effects.moves or level is None:
        yield (
            f"! Whoever steals the watch key can destroy at most {percent(effects.share)} of the "
            "fees put in while the price is in the band, outside it the waiting fees."
        )
        return
    beside = "below" if level.side == "above" else "above"
    yield (
        f"! Afterwards it stands {beside} the price, in one coin, and earns only if the price "
        f"returns to {figure_of(effects, level.side)}."
    )
    went, back = ("sold", "bought back") if level.side == "above" else ("bought", "sold again")
    for place, move in enumerate(effects.moves, 1):
        step = f"Step {place}: into" if len(effects.moves) > 1 else "Into"
        yield (
            f"! {step} {move.low} to {move.high} {effects.unit}. What was {went} at "
            f"{move.went_at:,.6g} on average is {back} at {move.back_at:,.6g}."
        )
    dollars = UNKNOWN if effects.dollars is None else usd(effects.dollars)
    yield f"! Whoever steals the watch key can destroy at most {dollars}, with all signed steps."
    if effects.of_pool >= MUCH_OF_POOL:
        yield (
            f"! Your position is {percent(effects.of_pool)} of its pool's liquidity: pushing the "
            "price that far is cheap."
        )


def figure_of(effects: EntryEffects, side: str) -> str:
    """The end of the last range that the price comes back to first."""
    move = effects.moves[-1]
    return move.high if side == "above" else move.low


def _jump(order: StandingOrder, call: OrderCall) -> Iterator[str]:
    """No order names the price it is carried out at, only the one from which on it may be."""
    if call.traits.takes and (level := order.level):
        past = f"{level.side} {level.price}"
        yield f"! If the price jumps, it closes at whatever price is reached, even far {past}."


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}"


def _beside(draft: OrderDraft, order: StandingOrder, call: OrderCall) -> str:
    """All that is signed of a close that goes with it."""
    least = f"at least {_amounts(draft, call.least)}" if any(call.least) else "no minimum"
    return (
        f"{headline(order, call)}, seen for {length_text(order.hold_seconds)}, until "
        f"{minute_text(call.until)}: everything to you, {least}"
    )


def _when(draft: OrderDraft) -> str:
    condition, outlook = draft.order.condition, draft.outlook
    stays = length_text(draft.order.hold_seconds)
    words = _sentence(condition_words(draft.order, draft.call))
    if not isinstance(condition, PricePast):
        return f"{words}, and that is seen for {stays}."
    waits = f"{words} for {stays}."
    if outlook is None or outlook.distance is None:
        return waits
    moves = "fall" if outlook.distance < 0 else "rise"
    away = percent(abs(outlook.distance))
    return f"{waits} It is {outlook.price} now and must {moves} {away}."


def _expected(draft: OrderDraft) -> str:
    condition, outlook = draft.order.condition, draft.outlook
    waits = "" if outlook is None else _waiting(draft, outlook.withdrawn)
    if isinstance(condition, FeesOver):
        return f"More than {usd(condition.micro_usd / MICRO)} of fees each time{waits}."
    if outlook is None:
        return "What is in it then, and its fees."
    where = "then" if isinstance(condition, PricePast) else "now"
    worth = "" if outlook.dollars is None else f", worth {round_usd(outlook.dollars)} {where}"
    verb = "About" if where == "then" else "What is in it:"
    return f"{verb} {_amounts(draft, outlook.amounts)}{worth}, plus fees{waits}."


def _waiting(draft: OrderDraft, withdrawn: Sequence[int]) -> str:
    return f", and {_amounts(draft, withdrawn)} withdrawn before" if any(withdrawn) else ""


def _amounts(draft: OrderDraft, amounts: Sequence[int]) -> str:
    """What there is something of."""
    named = (
        f"{amount_of(amount, draft.tokens[currency])} {draft.tokens[currency].label}"
        for amount, currency in zip(amounts, draft.call.currencies, strict=True)
        if amount
    )
    return " + ".join(named) or "nothing"


def _least(draft: OrderDraft) -> str:
    if not any(draft.call.least):
        return "No minimum is signed: you get what is in it then."
    least = f"{_amounts(draft, draft.call.least)}, or the transaction reverts"
    condition = draft.order.condition
    without = [
        draft.tokens[currency].label
        for amount, currency in zip(draft.call.least, draft.call.currencies, strict=True)
        if not amount
    ]
    if not isinstance(condition, PricePast) or draft.falls_short or not without:
        return f"{least}."
    verb = "falls" if is_below(draft.order) else "rises"
    return f"{least}. {without[0]} has no minimum: it shrinks as the price {verb}."


def _added(draft: OrderDraft) -> str:
    entry = draft.call.entry
    assert entry is not None
    rest = "what is left of the fees follows" if entry.rest else "the rest comes to you"
    assert draft.effects is not None
    low, high = draft.effects.band
    return (
        f"A fixed step that takes at most {_amounts(draft, entry.most)}, and only while the price "
        f"is {low} to {high} {draft.effects.unit}; {rest}."
    )


def _moved(draft: OrderDraft) -> str:
    return f"{_amounts(draft, draft.call.least)}, all of it and of one coin, or it reverts."


_DOES: dict[OrderKind, str] = {
    "close": "close {}",
    "collect": "collect the fees of {}",
    "compound": "add the fees of {} to it",
    "move": "move {} into another range",
    "follow": "move {} into another range",
}
_THEN: dict[OrderKind, str] = {
    "close": "and send everything to you",
    "collect": "and send everything to you",
    "compound": "and send what is over to you",
    "move": "as a new position of yours, and send its fees to you",
    "follow": "that of another position of yours, and send its fees to you",
}
_GETS: dict[OrderKind, Callable[[OrderDraft], str]] = {
    "close": _expected,
    "collect": _expected,
    "compound": lambda _: "The fees that do not fit its range.",
    "move": lambda _: "Its fees.",
    "follow": lambda _: "Its fees.",
}
_LEAST: dict[OrderKind, Callable[[OrderDraft], str]] = {
    "close": _least,
    "collect": _least,
    "compound": _added,
    "move": _moved,
    "follow": _moved,
}


def _by(draft: OrderDraft) -> str:
    key = checksum(draft.order.delegation_signed.delegate)
    if draft.key == "own":
        return f"The watch key {key}, which holds only gas."
    if draft.key == "recorded":
        return f"{key}, as watch-key.json says: not checked, its passphrase is not at hand."
    return f"{key}, a key made elsewhere: only its address is known here."


def _reach(draft: OrderDraft) -> str:
    """Where the chain itself refuses, whoever has the watch key."""
    if draft.call.traits.takes and draft.order.size is not UNSET:
        return (
            ". Its minimum fits the size at signing: once the position has grown, the chain lets "
            "it pass before its price"
        )
    if not draft.reach:
        return ""
    level = draft.order.level
    side = "below" if is_below(draft.order) else "above"
    if level is not None and not draft.falls_short:
        return f", only {side} {level.price}"
    return f", only {side} {draft.reach}, where its range ends"


def _looks_at(draft: OrderDraft) -> str:
    """Whose word it is that the condition holds."""
    early = ""
    if draft.falls_short:
        side = "below" if is_below(draft.order) else "above"
        past = f", once the price is {side} {draft.reach}" if draft.reach else ""
        times = draft.call.times
        does = "do it early" if times == 1 else f"do all {times} at once, whatever the rhythm"
        early = f"; whoever steals the watch key can {does}{past}, and nothing else"
    if draft.endpoints == 0:
        return f"The demo's own chain{early}."
    if draft.endpoints == 1:
        return f"ONE endpoint, which could be wrong: set a second{early}."
    return f"{draft.endpoints} endpoints; two must agree{early}."


def attached_line(kept: KeptOrder, call: OrderCall) -> str:
    """Under a list of positions."""
    order = kept.order
    return (
        f"order {order.number} on {position_label(call.ref)}: {headline(order, call).lower()} "
        f"by {shorten_address(order.delegation_signed.delegate)} · zuno order cancel {order.number}"
    )
