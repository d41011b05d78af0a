"""From words to a signed order: proposed on a fresh reading, approved, read again, signed."""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import UNSET, Struct, ValidationError, convert, to_builtins
from msgspec.structs import replace

from agents.bus.plan_store import DamagedPlanError, PlanStore
from chain.base.strict_json import digest
from chain.base.units import Unknown
from chain.contracts.addresses import checksum
from chain.contracts.delegation import (
    DELEGATION_MANAGER,
    EXACT_EXECUTION,
    LIMITED_CALLS,
    NONCES,
    SIMPLE_ACCOUNT,
    TIMESTAMPS,
    delegate_in,
)
from chain.contracts.hooks import hook_passport
from chain.contracts.networks import Address, Network
from chain.contracts.signed_delegation import SignedDelegation, ask_nonce
from chain.execution import protocols
from chain.execution.outbox.approvals import ActKind, GivenApproval
from chain.execution.outbox.outbox import Outbox
from chain.math.drift import Span
from chain.math.liquidity import Amounts
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.overview import Sources, tokens_at
from chain.protocols.reference import PositionRef, position_label, position_name
from chain.protocols.snapshot import PositionSnapshot
from chain.rpc import requests
from chain.rpc.records import Block
from chain.standing_orders.book import StandingOrders
from chain.standing_orders.call import (
    OrderCall,
    OrderLimits,
    call_in,
    gas_limits,
    least_amounts,
    propose,
    read_call,
)
from chain.standing_orders.entries import span_of
from chain.standing_orders.order import (
    OrderCondition,
    PricePast,
    StandingOrder,
    delegation_text,
)
from chain.standing_orders.seal import is_sealed, salt_of
from chain.tokens import Token
from chain.tokens.pair import pair_of
from chain.wallet.address_book import KeyStorage, read_book
from chain.wallet.errors import WalletError
from chain.wallet.watch_key import is_proven, watch_key
from zuno_tui.app.session import Session
from zuno_tui.features.orders.effects import EntryEffects, entry_effects
from zuno_tui.features.orders.events import OrderFormReady
from zuno_tui.features.orders.intents import OrderAsked
from zuno_tui.features.orders.neighbors import (
    NeighborFacts,
    read_facts,
    read_neighbors,
    refuse_page,
    ticks_moved,
)
from zuno_tui.features.orders.planning import (
    OrderPlan,
    OrderRequest,
    order_request,
    plan_orders,
)
from zuno_tui.features.orders.sight import OrderSight, hook_code, read_sight
from zuno_tui.gate.actions.action import owned_position
from zuno_tui.gate.acts import (
    make_given_approval,
    refuse_changed,
    refuse_over,
    seal,
    waiting_approval,
)
from zuno_tui.gate.agreement import Connections
from zuno_tui.gate.contract_code import read_code_hashes
from zuno_tui.gate.drift import network_time
from zuno_tui.gate.limits import gate_limits
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode
from zuno_tui.gate.worth import ActionWorth, read_worth

FLOW = "orders"
_ENFORCED_BY = (DELEGATION_MANAGER, EXACT_EXECUTION, LIMITED_CALLS, TIMESTAMPS, NONCES)


class NotDelegatedError(GateRefusedError):
    """The account was never prepared for orders."""


class OrderOutlook(Struct, frozen=True):
    """The market as it is, and what a close would bring where the order waits for it."""

    price: str
    """Now, in the pair's own terms."""
    distance: float | None
    """The move the price must make to the one that is waited for, as a part of it; None without."""
    amounts: Amounts
    """What is in the position at the price that is waited for, else now; fees besides."""
    dollars: float | None
    """Their worth at that price; None where the quote token's is unknown."""
    withdrawn: Amounts = Amounts(0, 0)
    """Taken out before and not collected yet: it comes along, by whichever order is first."""


class NetworkCost(Struct, frozen=True):
    """What one call may cost whoever sends it."""

    wei: int
    """At most, by the limits."""
    now: int | None
    """At the base fee of the latest block; None where it has none."""
    coin: str
    usd_per_wei: float | None


class OrderDraft(Struct, frozen=True):
    """An order that waits for the owner's word, with what is told of it."""

    plan_id: str
    orders: tuple[StandingOrder, ...]
    """The one that was asked for, then what the same page signs with it."""
    calls: tuple[OrderCall, ...]
    approval: GivenApproval
    now: float
    """By the network's clock."""
    tokens: dict[Address, Token]
    endpoints: int
    """How many decide when it is carried out; none where the chain is embedded."""
    reach: str
    """The price from which on the chain refuses it; empty where it cannot tell."""
    falls_short: bool
    """Whether the chain lets it pass before its condition: always where that is no price,
    between the range's edge and a level outside it, and where the position may grow."""
    key: Literal["own", "recorded", "elsewhere"]
    """The watch key: this home's, opened; this home's by its record, which nothing here checks; or
    one of which only the address is known."""
    network_cost: NetworkCost
    """The watch key pays it."""
    facts: NeighborFacts
    outlook: OrderOutlook | None = None
    """None where the position is gone or its tokens' decimals are unknown."""
    effects: EntryEffects | None = None
    """Of what it puts back to work; None where it does not."""

    @property
    def order(self) -> StandingOrder:
        return self.orders[0]

    @property
    def call(self) -> OrderCall:
        return self.calls[0]

    @property
    def hash(self) -> str:
        return self.approval.hash


def _refuse_device(session: Session) -> None:
    """Said before anything is read: no device lets an account run the code that orders need."""
    wallet = read_book(session.home.keystore).at(session.address)
    if wallet is not None and wallet.keeping is KeyStorage.LEDGER:
        raise GateRefusedError(
            "A Ledger does not delegate to the code that orders need, so no order can stand for "
            f"{wallet.name}. Alerts still watch it: zuno alert. Nothing was signed."
        )


async def propose_order(session: Session, asked: OrderAsked) -> OrderDraft:
    _refuse_device(session)
    async with session.sources() as sources, session.connections(sources) as connections:
        clients = (sources.client, *(each.client for each in connections.witnesses))
        request = await order_request(session, sources, asked, clients)
        position, now = request.position, request.now
        key = _delegate(session, asked.by)
        nonce = await sources.client.ask(requests.call(NONCES, ask_nonce(session.address)))
        code = await hook_code(sources.client, position, position.block.hash)
        orders = tuple(
            _unsigned(
                request,
                planned,
                key,
                OrderLimits(planned.times, now, int.from_bytes(nonce, "big")),
                hook_code=code,
            )
            for planned in await plan_orders(request, key)
        )
        sights = await _fit_sights(session, sources, connections, orders)
        facts = await _fit_neighbors(session, sources, connections, orders)
        pair = request.pair.token0.address, request.pair.token1.address
        worth = await read_worth(sources, pair, sights[0].head)
        plan_id = f"plan_{digest(''.join(each.delegation for each in orders).encode())[:16]}"
        approval = make_given_approval(ActKind.ORDER, plan_id, _sealed(orders, now), {}, now=now)
        draft = await _draft(
            session,
            orders,
            worth,
            connections,
            sights,
            facts=facts,
            approval=approval,
            now=now,
        )
    PlanStore(session.home.plans).keep(
        {"planId": draft.plan_id, "flow": FLOW, "orders": [to_builtins(each) for each in orders]}
    )
    with Outbox.open(session.home.outbox) as outbox:
        outbox.give(draft.approval)
    return draft


def _unsigned(
    request: OrderRequest,
    planned: OrderPlan,
    key: Address,
    limits: OrderLimits,
    *,
    hook_code: str | None,
) -> StandingOrder:
    """With its seal, before its owner's signature."""
    network, pair, position = request.session.network, request.pair, request.position
    unsealed = propose(network, position.pool.key, planned.made, watch_key=key, limits=limits)
    token0, token1 = pair.token0, pair.token1
    known = None not in (token0.decimals, token1.decimals)
    size = planned.made.liquidity or position.liquidity
    order = StandingOrder(
        version=2,
        number=0,
        chain_id=network.chain_id,
        delegation="",
        condition=planned.condition,
        made_at=float(limits.now),
        liquidity=str(size),
        hook_code=hook_code,
        hold_seconds=planned.hold,
        pair=(token0.label, token1.label),
        decimals=(token0.decimals or 0, token1.decimals or 0) if known else None,
        inverted=pair.inverted,
        secret=secrets.token_hex(16),
        size=planned.size,
        ticks=planned.ticks,
    )
    call = read_call(unsealed, network)
    if not call.currencies:
        order = replace(order, tokens=(token0.address, token1.address))
    salt = salt_of(order, call)
    return replace(order, delegation=delegation_text(unsealed._replace(salt=salt)))


async def order_form(session: Session, ref: PositionRef) -> OrderFormReady:
    async with session.sources() as sources:
        position = await owned_position(sources, ref, session.address, "latest")
        key, price = position.pool.key, position.pool.sqrt_price_x96
        tokens = await tokens_at(sources, (key.currency0, key.currency1), position.block.hash)
        now = network_time(sources, position.block.timestamp)
        code = await sources.client.ask(requests.code(session.address))
    pair = pair_of(session.network, tokens[key.currency0], tokens[key.currency1], price)
    low, high = pair.bounds(position.identity.tick_lower, position.identity.tick_upper)
    unit = f"{pair.quote.label} per {pair.base.label}"
    return OrderFormReady(
        ref,
        pair.name,
        pair.price_text(price),
        low,
        high,
        unit,
        now,
        delegated=delegate_in(code) == session.network.contracts.delegate,
    )


async def waiting_order(session: Session, plan_id: str | None) -> OrderDraft:
    """What is about to be signed, read again: refused where anything of it has changed."""
    document = PlanStore(session.home.plans).find(plan_id, FLOW)
    try:
        orders = convert(document.get("orders"), tuple[StandingOrder, ...])
    except ValidationError:
        orders = ()
    if not orders:
        raise DamagedPlanError("This order cannot be read. Ask for it again.")
    with Outbox.open(session.home.outbox) as outbox:
        approval = waiting_approval(
            outbox,
            ActKind.ORDER,
            str(document.get("planId")),
            happened=lambda _: all(_is_kept(session, order) for order in orders),
            lost=_lost(session, orders[0]),
            kept_elsewhere="approvalHash" in document,
        )
    refuse_changed(approval, _sealed(orders, approval.given_at))
    async with session.sources() as sources, session.connections(sources) as connections:
        call = call_in(orders[0], session.network)
        head = await sources.client.head()
        now = network_time(sources, head.timestamp)
        refuse_over(approval, now)
        worth = await read_worth(sources, call.currencies, head)
        sights = await _fit_sights(session, sources, connections, orders)
        facts = await _fit_neighbors(session, sources, connections, orders)
        return await _draft(
            session,
            orders,
            worth,
            connections,
            sights,
            facts=facts,
            approval=approval,
            now=now,
        )


def _sealed(orders: Sequence[StandingOrder], given_at: float) -> str:
    told = [to_builtins(order) for order in orders]
    return seal({"orders": told, "givenAt": float(given_at)})


def _is_kept(session: Session, order: StandingOrder) -> bool:
    """Whether it stands, or stood, as it was signed."""
    unsigned = order.delegation_signed
    return any(
        kept.order.delegation_signed._replace(signature=unsigned.signature) == unsigned
        for kept in StandingOrders(session.home.orders).all()
    )


def _lost(session: Session, order: StandingOrder) -> str:
    """Its signature may have been made: what was not kept is asked for as an order of its own."""
    call = call_in(order, session.network)
    return (
        "No such order is kept here: zuno was stopped while it was signed, or its file was removed "
        "since. Nothing was sent. See what stands: zuno orders. "
        f"Ask for it again: zuno order {call.traits.command} {position_name(call.ref)}"
    )


def sign_orders(
    session: Session, draft: OrderDraft, sign: Callable[[SignedDelegation], SignedDelegation]
) -> list[StandingOrder]:
    """All of a page, or none is kept; what closes stands before what makes it necessary."""
    signed = [
        replace(order, delegation=delegation_text(sign(order.delegation_signed)))
        for order in draft.orders
    ]
    places = sorted(range(len(signed)), key=lambda place: not draft.calls[place].traits.takes)
    page = list(zip(draft.orders, draft.calls, strict=True))

    def use_approval() -> None:
        refuse_page(page, read_neighbors(session, draft.facts.over), draft.facts)
        with Outbox.open(session.home.outbox) as outbox:
            outbox.use(draft.hash, now=draft.now)

    book = StandingOrders(session.home.orders)
    orders = book.add_all([signed[place] for place in places], before=use_approval)
    return [orders[places.index(place)] for place in range(len(signed))]


def stand_words(orders: Sequence[StandingOrder]) -> str:
    """`Order 3 stands`, or every number that does."""
    *others, last = sorted(order.number for order in orders)
    if not others:
        return f"Order {last} stands"
    return f"Orders {', '.join(map(str, others))} and {last} stand"


async def _draft(
    session: Session,
    orders: Sequence[StandingOrder],
    worth: ActionWorth,
    connections: Connections,
    sights: Sequence[OrderSight],
    *,
    facts: NeighborFacts,
    approval: GivenApproval,
    now: float,
) -> OrderDraft:
    order, sight = orders[0], sights[0]
    tokens = dict(worth.tokens)
    calls = tuple(call_in(each, session.network) for each in orders)
    call = calls[0]
    embedded = session.network.clock == "head"
    endpoints = 0 if embedded else len(connections.witnesses) or 1
    level = None if sight.position is None else _enforced_level(sight.position, order, call)
    # Its minimum fits the size at signing: a larger position pays that before the price.
    grows = call.traits.takes and order.size is not UNSET
    reach, effects = "", None
    if sight.position is not None:
        key, price = sight.position.pool.key, sight.position.pool.sqrt_price_x96
        pair = pair_of(session.network, tokens[key.currency0], tokens[key.currency1], price)
        reach = "" if level is None or grows else pair.price_text(level)
        moves = read_neighbors(session, facts.over).moves
        standing = ticks_moved(sight.position.ref, moves, facts.spans)
        effects = entry_effects(calls, sight.position, pair, worth, standing)
    condition = order.condition
    return OrderDraft(
        approval.plan_id,
        tuple(orders),
        calls,
        approval,
        now,
        tokens,
        endpoints,
        reach,
        falls_short=grows
        or not isinstance(condition, PricePast)
        or level != int(condition.sqrt_price),
        key=await _key_of(session, order.delegation_signed.delegate),
        network_cost=_network_cost(session, call, worth, sight.head),
        facts=facts,
        outlook=None
        if sight.position is None
        else _outlook(session.network, condition, sight.position, worth),
        effects=effects,
    )


def _network_cost(
    session: Session, call: OrderCall, worth: ActionWorth, head: Block
) -> NetworkCost:
    """The keeper outbids itself up to the limit, never beyond it."""
    network, base = session.network, head.base_fee_per_gas
    gas = gas_limits(call).most
    wei = gas * gate_limits(session.settings.limits, network).policy.max_fee_per_gas
    now = None if base is None else gas * base
    return NetworkCost(wei, now, network.native_symbol, worth.usd_per_wei)


def _outlook(
    network: Network, condition: OrderCondition, position: PositionSnapshot, worth: ActionWorth
) -> OrderOutlook | None:
    key, now = position.pool.key, position.pool.sqrt_price_x96
    pair = pair_of(network, worth.tokens[key.currency0], worth.tokens[key.currency1], now)
    level = int(condition.sqrt_price) if isinstance(condition, PricePast) else now
    there, here = pair.price(level), pair.price(now)
    if there is None or here is None:
        return None
    span = Span(position.identity.tick_lower, position.identity.tick_upper)
    amounts = span.holds(level, position.liquidity, round_up=False)
    base, quote = amounts[::-1] if pair.inverted else amounts
    rate = worth.usd_per_unit.get(pair.quote.address)
    dollars = None
    if rate is not None and pair.base.decimals is not None and pair.quote.decimals is not None:
        whole = base / 10**pair.base.decimals * there.value
        dollars = (whole * 10**pair.quote.decimals + quote) * rate
    waits = isinstance(condition, PricePast) and there.value > 0
    distance = there.value / here.value - 1 if waits and here.value else None
    withdrawn = position.withdrawn
    before = Amounts(0, 0) if isinstance(withdrawn, Unknown) else withdrawn.value
    return OrderOutlook(pair.price_text(now), distance, amounts, dollars, before)


def _enforced_level(
    position: PositionSnapshot, order: StandingOrder, call: OrderCall
) -> int | None:
    """Outside the range amounts no longer change: there its edge is the strictest the chain has."""
    condition = order.condition
    if isinstance(condition, PricePast) and call.traits.shifts:
        return int(condition.sqrt_price)  # before that the new range wants the other coin, too
    if not isinstance(condition, PricePast) or not any(least_amounts(position, condition)):
        return None
    lower, upper = (
        sqrt_price_at_tick(tick)
        for tick in (position.identity.tick_lower, position.identity.tick_upper)
    )
    return min(max(int(condition.sqrt_price), lower), upper)


async def _fit_neighbors(
    session: Session,
    sources: Sources,
    connections: Connections,
    orders: Sequence[StandingOrder],
) -> NeighborFacts:
    """Refuse what may not stand beside the orders that stand now."""
    page = [(order, call_in(order, session.network)) for order in orders]
    clients = (sources.client, *(witness.client for witness in connections.witnesses))
    facts = await read_facts(session, sources, clients, [call.ref for _, call in page])
    refuse_page(page, read_neighbors(session, facts.over), facts)
    return facts


async def _fit_sights(
    session: Session,
    sources: Sources,
    connections: Connections,
    orders: Sequence[StandingOrder],
) -> list[OrderSight]:
    """Refuse what the chain would not carry out, and what endpoints tell differently."""
    await _refuse_odd_contracts(session, sources)
    return [await _fit_sight(session, sources, connections, order) for order in orders]


async def _refuse_odd_contracts(session: Session, sources: Sources) -> None:
    head = await sources.client.head()
    codes = await read_code_hashes(sources, _ENFORCED_BY, head.hash, pins=sources.store)
    for address in _ENFORCED_BY:
        if address not in codes.now or codes.now[address] != codes.pinned.get(address):
            raise GateRefusedError(
                "The contracts that hold an order to its terms are not on "
                f"{session.network.title} as they are known. Nothing was signed.",
                RefusalCode.CONTRACT_CODE,
            )


async def _fit_sight(
    session: Session, sources: Sources, connections: Connections, order: StandingOrder
) -> OrderSight:
    network, call = session.network, call_in(order, session.network)
    if call.recipient != session.address or order.chain_id != network.chain_id:
        raise GateRefusedError("The order is of another wallet or network. Nothing was signed.")
    clients = (sources.client, *(witness.client for witness in connections.witnesses))
    sights = [
        await read_sight(client, network, call, order.delegation_signed) for client in clients
    ]
    sight = sights[0]
    if len({_compared(each) for each in sights}) > 1:
        raise GateRefusedError(
            "Endpoints disagree on the position, the account or its orders. Nothing was signed. "
            "Try again, or leave out the one you do not trust: --rpc URL,URL",
            RefusalCode.ENDPOINTS_DISAGREE,
        )
    if sight.delegate == SIMPLE_ACCOUNT.address:
        raise GateRefusedError(
            f"This account runs {SIMPLE_ACCOUNT.name}, on which no order can stand. Change it: "
            "zuno wallet undelegate, then zuno wallet delegate"
        )
    if sight.delegate is None or sight.delegate != network.contracts.delegate:
        raise NotDelegatedError(
            "Set your account up for orders once, then ask again: zuno wallet delegate"
        )
    protocol = protocols.reader_named(call.ref.protocol).contracts(network)
    relied_on = (*_ENFORCED_BY, sight.delegate, *protocol)
    codes = await read_code_hashes(sources, relied_on, sight.head.hash, pins=sources.store)
    for address in relied_on:
        if address not in codes.now or codes.now[address] != codes.pinned.get(address):
            raise GateRefusedError(
                f"The contracts that hold an order to its terms are not on {network.title} as they "
                "are known. Nothing was signed.",
                RefusalCode.CONTRACT_CODE,
            )
    position = sight.position
    if position is None or position.owner != session.address:
        raise GateRefusedError(
            f"Position {position_label(call.ref)} is not this wallet's any more."
        )
    key, changed = position.pool.key, order.fits(position.liquidity) is False
    paid = call.currencies == (key.currency0, key.currency1)
    if changed or not paid or sight.hook_code != order.hook_code:
        raise GateRefusedError("The position or its hook has changed. Ask for the order again.")
    if call.target is not None:
        _refuse_other_target(session, call, sight)
    if sight.nonce != call.nonce:
        raise GateRefusedError("Orders were cancelled meanwhile. Ask for this one again.")
    if not is_sealed(order, call):
        raise GateRefusedError("What it waits for is not sealed. Ask for the order again.")
    _refuse_hopeless(order, call, position)
    return sight


def _refuse_other_target(session: Session, call: OrderCall, sight: OrderSight) -> None:
    """What takes it in is this wallet's, of the same pool, and the range that was sealed."""
    target, entry = sight.target, call.entry
    assert call.target is not None
    if (
        target is None
        or sight.position is None
        or entry is None
        or target.owner != session.address
        or target.identity.pool_id != sight.position.identity.pool_id
        or span_of(target) != entry.span
    ):
        raise GateRefusedError(
            f"Position {position_label(call.target)} is not there to take it in. Ask for the order "
            "again."
        )


def _refuse_hopeless(order: StandingOrder, call: OrderCall, position: PositionSnapshot) -> None:
    key, condition = position.pool.key, order.condition
    if position.liquidity == 0:
        raise GateRefusedError(
            f"Position {position_label(position.ref)} is empty: there is nothing to do."
        )
    if position.custody.subscriber is not None:
        raise GateRefusedError(
            f"A contract is told of every change of {position_label(position.ref)} and can refuse "
            "it, so no order can promise to close it."
        )
    if hook_passport(key.hooks, key.fee).can_tax_exit:
        raise GateRefusedError(
            "The pool's hook can keep a part of what comes out, so no order can promise it."
        )
    price, level = position.pool.sqrt_price_x96, order.level
    if isinstance(condition, PricePast) and level is not None and condition.is_met(price):
        raise GateRefusedError(
            f"The price is {level.side} that already. "
            f"To do it now: zuno {call.traits.command} {position_name(position.ref)}"
        )


def _compared(sight: OrderSight) -> tuple[object, ...]:
    position = sight.position
    held, target = (
        None if at is None else (at.owner, at.liquidity, at.identity)
        for at in (position, sight.target)
    )
    return (held, target, sight.delegate, sight.nonce, sight.disabled, sight.hook_code)


async def _key_of(session: Session, named: Address) -> Literal["own", "recorded", "elsewhere"]:
    """Refused where the record names a key that is not there: it may be somebody else's."""
    own = watch_key(session.home, session.network)
    if own is None or own.address != named:
        return "elsewhere"
    try:
        proven = await asyncio.to_thread(is_proven, session.home, session.network)
    except WalletError as error:
        raise GateRefusedError(
            f"This home's record of its watch key names {checksum(named)}, and no such key "
            f"opens: {error} Nothing was signed."
        ) from None
    return "own" if proven else "recorded"


def _delegate(session: Session, named: str | None) -> Address:
    if named is not None:
        return named
    own = watch_key(session.home, session.network)
    if own is None:
        raise GateRefusedError(
            "This home has no watch key that could carry it out. Make one: zuno wallet watch-key, "
            "or name the one of the machine that watches: --by 0x…"
        )
    return own.address
