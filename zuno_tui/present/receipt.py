"""A receipt before the fact: what is given, got and paid, out of the bytes and a trial of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import sqrt
from typing import Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from chain.base.units import LAST_SECOND, UNKNOWN, minute_text, time_text, usd
from chain.contracts.addresses import checksum
from chain.contracts.delegation import NOBODY
from chain.contracts.networks import NATIVE, Address, Network
from chain.contracts.pool_key import DYNAMIC_FEE, CalldataPool
from chain.execution import protocols
from chain.execution.decode.titles import call_title, effect_title
from chain.execution.plan.effects import Effect, Provision, Sale, Withdrawal
from chain.execution.plan.facts import PoolFacts, PositionFacts
from chain.execution.plan.names import Names
from chain.execution.plan.records import (
    DecodedStep,
    Delegation,
    Deposit,
    Permit2Approval,
    TokenApproval,
    Withdraw,
)
from chain.math.drift import Span
from chain.math.price import format_amount
from chain.math.sqrt_price import Q96
from chain.math.ticks import sqrt_price_at_tick, tick_at_sqrt_price
from chain.protocols.reference import PositionRef, position_label
from chain.tokens import Token
from chain.tokens.pair import Pair, pair_of
from zuno_tui.gate.allowances import GivenAllowance
from zuno_tui.present.views import RangeView, ReceiptLine, ReceiptView, StepPermission
from zuno_tui.present.words import amount_of, cent_sum, fee_text, most_coin

_LIMITLESS = 2**159
"""Beyond any supply: what wallets write who mean "everything"."""


def allowance_rows(
    given: Iterable[GivenAllowance], tokens: Mapping[Address, Token]
) -> Iterator[tuple[str, str, str, str]]:
    for allowance in given:
        token = tokens[allowance.token]
        through = " through Permit2" if allowance.through_permit2 else ""
        amount = (
            "everything" if allowance.amount >= _LIMITLESS else amount_of(allowance.amount, token)
        )
        yield token.label, allowance.spender_name + through, amount, _until(allowance.expiration)


def leftover_lines(
    given: Sequence[GivenAllowance], tokens: Mapping[Address, Token]
) -> Iterator[str]:
    """What an applied plan leaves allowed, and how to take it back."""
    for token, spender, amount, until in allowance_rows(given, tokens):
        yield f"  Still allowed: {spender} may move {amount} {token} until {until}."
    if given:
        yield "  Take it back: zuno revoke --all"


def _until(expiration: int | None) -> str:
    if expiration is None or expiration > LAST_SECOND:
        return "taken back"
    return time_text(expiration)


_DIGITS = 6
_CENT = 0.005
_LEAST, _MOST = "≥ ", "≤ "
"""Before dollars that are a bound: two bounds are no balance, and do not look like one."""

Amounts = tuple[tuple[int, "Address"], ...]


class ReceiptFacts(Struct, frozen=True):
    """What the receipt is drawn from; nothing of it comes from a plan."""

    network: Network
    names: Names
    steps: Sequence[DecodedStep]
    changes: Mapping[Address, int] | None
    """What the wallet would hold more or less of, by a trial; None where not all was tried."""
    gas: int
    """Wei, at most."""
    pool: PoolFacts | None
    """Of the position that is changed, whose bytes do not name it, or of the one that is opened."""
    usd_per_unit: Mapping[Address, float] = field(default_factory=dict)
    """Of the tokens whose worth is known."""
    usd_per_wei: float | None = None
    positions: Mapping[PositionRef, PositionFacts] = field(default_factory=dict)
    """Those that are changed, as they are now."""
    expected_gas: int | None = None
    """Wei by a trial at the present gas price; None where not all was tried."""
    planned_cost: float | None = None
    """Dollars that the plan expected it to cost; None where no plan did."""
    made: tuple[int, ...] = ()
    """Liquidity that the trial made of what is given, where bytes name amounts alone."""

    def pair(self, ref: PositionRef) -> tuple[Address, Address] | None:
        """Of a position; of one that was not read, the pair of the plan's pool."""
        held = self.positions.get(ref)
        pool = self.pool if held is None else held.pool
        return None if pool is None else (pool.key.currency0, pool.key.currency1)

    def price_in(self, pool: CalldataPool) -> int | None:
        """None of another pool than the one that was read."""
        known = self.pool
        if known is None or _tokens(known.key) != _tokens(pool):
            return None
        return known.sqrt_price_x96

    @property
    def effects(self) -> tuple[Effect, ...]:
        return tuple(self._with_made_liquidity())

    def _with_made_liquidity(self) -> Iterator[Effect]:
        made = iter(self.made)
        for step in self.steps:
            for each in protocols.effects_of(step.call):
                if isinstance(each, Provision) and each.liquidity is None:
                    yield replace(each, made=next(made, None))
                else:
                    yield each

    @property
    def changes_positions(self) -> bool:
        return any(isinstance(effect, Withdrawal | Provision) for effect in self.effects)


def receipt_of(facts: ReceiptFacts) -> ReceiptView:
    """A sum that is read downward, what is given less what comes; then what is guaranteed."""
    cost = total_cost(facts)
    parts = (*_expected(facts), *_wrapping(facts))
    got = tuple(line for line in parts if line.part == "get")
    given = tuple(line for line in parts if line.part != "get")
    wallet, pools = tuple(_wallet(facts)), tuple(_pool_lines(facts))
    paid = tuple(_costs(cost, facts))
    # Of several positions first what they come to together.
    lines = (
        (*wallet, *paid, *pools, *parts)
        if len(facts.positions) > 1
        else (*pools, *given, *got, *wallet, *paid)
    )
    hooked = any(int(hooks, 16) for hooks in _hooks(facts))
    most = None if hooked else most_cost(facts)
    most_dollars = None if most is None else most.total
    return ReceiptView(
        (*lines, *_bounds(facts)),
        _range(facts),
        *cost,
        most_cost=most_dollars,
        planned_cost=facts.planned_cost,
        prices=_price_words(facts),
        halfway=_halfway(facts),
    )


class TotalCost(NamedTuple):
    """In dollars; None where a price or a trial is missing."""

    swap: float | None
    """Swap fee and price impact: what is worth less afterwards, gas left out."""
    network: float | None

    @property
    def total(self) -> float | None:
        unknown = self.swap is None or self.network is None
        return None if unknown else cent_sum(self.swap or 0.0, self.network or 0.0)


def total_cost(facts: ReceiptFacts) -> TotalCost:
    """What leaves positions and wallet less what comes to them, at present prices, and gas."""
    rate, gas = facts.usd_per_wei, facts.expected_gas
    network = None if rate is None or gas is None else gas * rate
    if facts.changes is None:
        return TotalCost(None, network)
    came = [(amount, token) for token, amount in facts.changes.items() if amount]
    lines = [
        (-1, came),
        *((-1 if part == "get" else 1, each) for part, _, each in _positions(facts)),
    ]
    if any(token not in facts.usd_per_unit for _, line in lines for _, token in line):
        return TotalCost(None, network)
    worths = [
        (way, sum(amount * facts.usd_per_unit[token] for amount, token in line))
        for way, line in lines
    ]
    if sum(way * worth for way, worth in worths) < _CENT:
        return TotalCost(0.0, network)  # what is left is the rounding of many lines
    # Each line as it is shown, so that the receipt adds up to what it says it costs.
    lost = sum(way * round(worth, 2) for way, worth in worths)
    return TotalCost(max(0.0, lost), network)


class MostCost(NamedTuple):
    """In dollars at present prices, each part at its most."""

    swap: float
    positions: float
    """What they take more or pay less if the price moves."""
    network: float

    @property
    def total(self) -> float:
        return cent_sum(*self)

    @property
    def words(self) -> str:
        named = (("swap", self.swap), ("price move", self.positions), ("network", self.network))
        return " + ".join(f"{name} {usd(part)}" for name, part in named if part >= _CENT)


def most_cost(facts: ReceiptFacts) -> MostCost | None:
    """What all of it may cost; None where a price is missing.

    Every swap at its minimum, every position that is filled at its most, the network at its most.
    What a position pays out is worth least where its pool stands at these very prices.
    """
    rate, prices, swapped, lost = facts.usd_per_wei, facts.usd_per_unit, 0.0, 0.0
    for effect in facts.effects:
        if isinstance(effect, Sale):
            sold, bought = (_worth(facts, (each,)) for each in _swapped(effect))
            if sold is None or bought is None:
                return None
            swapped += max(0.0, sold - bought)
        elif isinstance(effect, Provision) and (filled := _filling(facts, effect)):
            pair = filled.pair
            if any(token not in prices for token in pair):
                return None
            worths = [
                taken[0] * prices[pair[0]] + taken[1] * prices[pair[1]]
                for taken in (filled.now, *filled.ends)
            ]
            lost += max(worths) - worths[0]
        elif isinstance(effect, Withdrawal):
            less = _less_paid(facts, effect)
            if less is None:
                return None
            lost += less
    return None if rate is None else MostCost(swapped, lost, facts.gas * rate)


def _less_paid(facts: ReceiptFacts, paid: Withdrawal) -> float | None:
    """Dollars between what it pays now and the least, once its pool follows the dollar prices."""
    held, pair = facts.positions.get(paid.ref), facts.pair(paid.ref)
    if held is None or pair is None or any(not facts.usd_per_unit.get(token) for token in pair):
        return None
    liquidity = held.liquidity if paid.liquidity is None else paid.liquidity
    rate0, rate1 = (facts.usd_per_unit[token] for token in pair)
    at_least = int(sqrt(rate0 / rate1) * Q96)
    now, least = (
        amounts[0] * rate0 + amounts[1] * rate1
        for amounts in (
            held.span.holds(price, liquidity, round_up=False)
            for price in (held.pool.sqrt_price_x96, at_least)
        )
    )
    return max(0.0, now - least)


class _Filling(NamedTuple):
    """What goes into a range: now, and at the prices beyond which the chain refuses it."""

    pair: tuple[Address, Address]
    now: tuple[int, int]
    ends: tuple[tuple[int, int], ...]


def _filling(facts: ReceiptFacts, effect: Provision) -> _Filling | None:
    held = None if effect.ref is None else facts.positions.get(effect.ref)
    if effect.pool is not None and effect.span is not None:
        pair, span, price = _tokens(effect.pool), effect.span, facts.price_in(effect.pool)
    elif held is not None:
        pair, span, price = _tokens(held.pool.key), held.span, held.pool.sqrt_price_x96
    else:
        return None
    if price is None:
        return None
    now = span.holds(price, effect.liquidity_at(price, span), round_up=True)
    return _Filling(pair, now, _ends_of(effect, span))


def _ends_of(effect: Provision, span: Span) -> tuple[tuple[int, int], ...]:
    if effect.liquidity is None:
        return (effect.most,)
    return tuple(_ends_within(span, effect.liquidity, effect.most))


def step_part(step: DecodedStep) -> Literal["approve", "execute", "revoke"]:
    match step.call:
        case TokenApproval(amount=amount) | Permit2Approval(amount=amount):
            return "approve" if amount else "revoke"
        case _:
            return "execute"


def step_brief(step: DecodedStep, facts: ReceiptFacts) -> str:
    """What a step allows or does, in a line."""
    call, names = step.call, facts.names
    words = ""
    match call:
        case TokenApproval(spender, amount):
            words = _leave(facts, spender, amount, step.transaction.to)
        case Permit2Approval(token, spender, amount, expiration):
            leave = _leave(facts, spender, amount, token)
            words = f"{leave} until {minute_text(expiration)}" if amount else leave
        case Deposit():
            words = f"wrap {_amount(facts, step.transaction.value, NATIVE)}"
        case Withdraw(amount):
            words = f"unwrap {_amount(facts, amount, step.transaction.to)}"
        case Delegation(delegate, lender):
            words = _lending(facts, delegate, checksum(lender) if lender else "this account")
        case _:
            words = call_title(call, lambda effect: _doing(effect, facts))
    return words or f"call {names.place(step.transaction.to)}"


def _lending(facts: ReceiptFacts, delegate: Address, account: str) -> str:
    if delegate == NOBODY:
        return f"end it: {account} runs no other code, plans go as several transactions"
    known = facts.names.contracts.get(delegate, "").removeprefix("the ") or checksum(delegate)
    return f"let the {known} run as {account}: several calls in one transaction, all or nothing"


def lost_right(step: DecodedStep, facts: ReceiptFacts) -> tuple[str, str] | None:
    """Who may move which token no more; None where a step takes nothing back."""
    match step.call:
        case TokenApproval(spender, 0):
            token = step.transaction.to
        case Permit2Approval(token, spender, 0):
            pass
        case _:
            return None
    return _spender(facts, spender), facts.names.token(token).label


def given_right(step: DecodedStep, facts: ReceiptFacts) -> StepPermission | None:
    """Who may move how much of a token, until when; None where a step allows nothing."""
    match step.call:
        case TokenApproval(spender, amount) if amount:
            token, until = step.transaction.to, ""
        case Permit2Approval(token, spender, amount, expiration) if amount:
            until = minute_text(expiration)
        case _:
            return None
    return StepPermission(_spender(facts, spender), _amount(facts, amount, token), until)


def _spender(facts: ReceiptFacts, spender: Address) -> str:
    return facts.names.contracts.get(spender, "").removeprefix("the ") or checksum(spender)


def _leave(facts: ReceiptFacts, spender: Address, amount: int, token: Address) -> str:
    known = _spender(facts, spender)
    if not amount:
        return f"take back {known}'s right to move {facts.names.token(token).label}"
    return f"let {known} move up to {_amount(facts, amount, token)}"


def _doing(effect: Effect, facts: ReceiptFacts) -> str:
    """Its title, with the prices of a range and the amounts of a swap."""
    title = effect_title(effect)
    match effect:
        case Provision(None):
            pair, ticks = _pair(effect, facts), _ticks(effect)
            return title if pair is None else f"{title} {' – '.join(pair.bounds(*ticks))}"
        case Sale(pool):
            (sold, bought) = _swapped(effect)
            fee = "" if pool.fee == DYNAMIC_FEE else f"{fee_text(pool.fee)} "
            return (
                f"{title} {_all(facts, (sold,))} for at least {_all(facts, (bought,))} in the "
                f"{fee}pool"
            )
        case _:
            return title


def _pool_lines(facts: ReceiptFacts) -> Iterator[ReceiptLine]:
    """Pair, fee tier and hook of each pool that is entered or left, and which positions."""
    opened = next(_opened(facts), None)
    if facts.pool is None or not facts.changes_positions:
        return
    held = [(position.pool, position_label(ref)) for ref, position in facts.positions.items()]
    for key in dict.fromkeys(pool.key for pool, _ in held) or (facts.pool.key,):
        pool = next((pool for pool, _ in held if pool.key == key), facts.pool)
        changed = ", ".join(name for pool, name in held if pool.key == key)
        yield _pool_line(facts, pool, opened, changed)


def _opened(facts: ReceiptFacts) -> Iterator[CalldataPool]:
    """Pools that a position is opened in."""
    for effect in facts.effects:
        if isinstance(effect, Provision) and effect.pool is not None:
            yield effect.pool


def _pool_line(
    facts: ReceiptFacts, pool: PoolFacts, opened: CalldataPool | None, changed: str
) -> ReceiptLine:
    key: CalldataPool = pool.key if opened is None else opened
    tokens = facts.names.token(key.currency0), facts.names.token(key.currency1)
    pair = pair_of(facts.network, *tokens, pool.sqrt_price_x96)
    dynamic = key.fee == DYNAMIC_FEE
    fee = f"{fee_text(pool.lp_fee)} now, dynamic" if dynamic else fee_text(key.fee)
    hook = "no hook" if int(key.hooks, 16) == 0 else f"hook {checksum(key.hooks)}"
    which = changed or "new position"
    if opened is not None and changed:
        which = f"{changed} → new position"
    return ReceiptLine("pool", f"{pair.name} {fee} · {hook} · {which}")


_Part = tuple[Literal["give", "collect", "get"], str, Amounts]


def _positions(facts: ReceiptFacts) -> Iterator[_Part]:
    """What is in positions that end, begin or change, at the present price."""
    for effect in facts.effects:
        match effect:
            case Withdrawal(ref, liquidity) if (held := facts.positions.get(ref)) is not None:
                part = held.liquidity if liquidity is None else liquidity
                inside = held.span.holds(held.pool.sqrt_price_x96, part, round_up=False)
                pair = facts.pair(ref)
                leaves: Literal["give", "collect"] = (
                    "give" if effect.ends or effect.liquidity else "collect"
                )
                if not any(held.withdrawn) or part or any(held.fees):
                    yield leaves, _left_words(effect), _with(pair, *inside.plus(held.fees))
                if any(held.withdrawn):
                    before = f"withdrawn from {position_label(ref)} before:"
                    yield leaves, before, _with(pair, *held.withdrawn)
            case Provision(ref) if (filled := _filling(facts, effect)) is not None:
                words = "a position of" if ref is None else f"added to {position_label(ref)}:"
                yield "get", words, _with(filled.pair, *filled.now)
            case _:
                pass


def _left_words(effect: Withdrawal) -> str:
    name = position_label(effect.ref)
    if effect.ends:
        return f"position {name}:"
    return f"{'a part and the fees of' if effect.liquidity else 'the fees of'} {name}:"


def _expected(facts: ReceiptFacts) -> Iterator[ReceiptLine]:
    for part, words, amounts in _positions(facts):
        yield _line(facts, part, words, amounts)
    if facts.changes_positions:
        return
    for effect in facts.effects:
        if isinstance(effect, Sale):
            sold, (_, bought) = _swapped(effect)
            yield _line(facts, "give", "", (sold,))
            came = (facts.changes or {}).get(bought)
            if came is not None:
                yield _line(facts, "get", "about", ((came, bought),))


_PAYS = "minimum, before fees"


def _bounds(facts: ReceiptFacts) -> Iterator[ReceiptLine]:
    """By the bytes, whatever the price does: what is paid at least, taken at most."""
    for effect in facts.effects:
        match effect:
            case Withdrawal(ref, liquidity, least, ends) if ends or liquidity:
                amounts = _with(facts.pair(ref), *least)
                words = f"{position_label(ref)} {_PAYS}{_other_coin(facts, ref)}"
                yield _line(facts, "bound", words, amounts, "comes out")
            case Provision(ref, pool, span, _, most):
                name = "the new position" if ref is None else position_label(ref)
                held = None if ref is None else facts.positions.get(ref)
                inside = held.span if held is not None else span
                pair = _tokens(pool) if pool is not None else facts.pair(ref) if ref else None
                taken = () if inside is None else _ends_of(effect, inside)
                yield _most_line(facts, f"{name} takes at most", pair, most, taken)
            # On the way into a position its step says the same.
            case Sale() if not facts.changes_positions:
                yield ReceiptLine("bound", _doing(effect, facts))
            case _:
                pass
    rate = facts.usd_per_wei
    dollars = "" if rate is None else f"{_MOST}{usd(facts.gas * rate)}"
    coin = facts.network.native_symbol
    if facts.gas:
        words = f"at most {most_coin(facts.gas)} {coin}"
        yield ReceiptLine("bound", words, dollars, "network")
    yield from _all_in(facts)


def _other_coin(facts: ReceiptFacts, ref: PositionRef) -> str:
    """Of a position out of range: it may pay in the other coin by the time it is carried out."""
    held, pair = facts.positions.get(ref), facts.pair(ref)
    if held is None or pair is None or not held.liquidity:
        return ""
    inside = held.span.holds(held.pool.sqrt_price_x96, held.liquidity, round_up=False)
    if all(inside) or not any(inside):
        return ""
    other = facts.names.token(pair[1] if inside.amount0 else pair[0])
    return f" (back in range, the rest comes in {other.label})"


def _all_in(facts: ReceiptFacts) -> Iterator[ReceiptLine]:
    """Where more than the network takes something; a hook could take more than bytes bound."""
    swaps = any(isinstance(effect, Sale) for effect in facts.effects)
    fills = any(
        isinstance(effect, Provision) and _filling(facts, effect) is not None
        for effect in facts.effects
    )
    # A hook takes its share of what is only collected, too: the title counts with it.
    if any(int(hooks, 16) for hooks in _hooks(facts)):
        words = "no bound: the pool's hook could take a share"
        yield ReceiptLine("bound", words, bounds="worst case")
        return
    if not swaps and not fills:
        return
    most = most_cost(facts)
    if most is not None:
        yield ReceiptLine("bound", most.words, f"{_MOST}{usd(most.total)}", "worst case")


def _hooks(facts: ReceiptFacts) -> Iterator[Address]:
    """Of the pools that are entered or left; what a swap pays at least binds its hook too."""
    yield from (held.pool.key.hooks for held in facts.positions.values())
    yield from (pool.hooks for pool in _opened(facts))


def _most_line(
    facts: ReceiptFacts,
    words: str,
    pair: tuple[Address, Address] | None,
    most: tuple[int, int],
    ends: Iterable[tuple[int, int]],
) -> ReceiptLine:
    """The bounds of both tokens are never reached at once: more of one is less of the other."""
    amounts, taken = _with(pair, *most), [_with(pair, *end) for end in ends]
    if len(amounts) < 2 or not all(most) or not taken:
        return _line(facts, "bound", words, amounts, "goes in")
    worths = [_worth(facts, end) for end in taken]
    known = [worth for worth in worths if worth is not None]
    if len(known) == len(taken):
        # The amounts stand in the step's own sentence: two of them here read as a sum.
        rest = "this; the rest comes to your wallet"
        return ReceiptLine("bound", f"{words} {rest}", f"{_MOST}{usd(max(known))}", "goes in")
    either = " or ".join(_amount(facts, amount, token) for amount, token in amounts)
    return ReceiptLine("bound", f"{words} {either}, never both", bounds="goes in")


def _ends_within(span: Span, liquidity: int, most: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """What the liquidity takes at the two prices beyond which a bound stops it.

    Between them the worth at one price is convex: at an end it is most.
    """
    low, high = span.sqrt_prices
    scaled = liquidity * Q96
    at_lowest = scaled * high // (most[0] * high + scaled)
    at_highest = low + most[1] * Q96 // max(1, liquidity)
    for price in (at_lowest, at_highest):
        taken = span.holds(price, liquidity, round_up=True)
        yield min(taken[0], most[0]), min(taken[1], most[1])


def _wrapping(facts: ReceiptFacts) -> Iterator[ReceiptLine]:
    for step in facts.steps:
        match step.call:
            case Deposit():
                yield _line(facts, "give", "wrapped", ((step.transaction.value, NATIVE),))
            case Withdraw(amount):
                yield _line(facts, "give", "unwrapped", ((amount, step.transaction.to),))
            case _:
                pass


def _wallet(facts: ReceiptFacts) -> Iterator[ReceiptLine]:
    """By the trial: what the wallet holds more or less of when all is done."""
    if facts.changes is None:
        yield ReceiptLine("wallet", "not every step could be simulated")
        return
    changed = [(amount, token) for token, amount in facts.changes.items() if amount]
    words = [
        f"{'+' if amount > 0 else '−'}{_amount(facts, abs(amount), token)}"
        for amount, token in changed
    ]
    told = "  ".join(words) or "no change"
    enters = any(isinstance(each, Provision) for each in facts.effects)
    if changed and enters and all(amount > 0 for amount, _ in changed):
        before = any(
            isinstance(each, Withdrawal)
            and each.ref in facts.positions
            and any(facts.positions[each.ref].withdrawn)
            for each in facts.effects
        )
        told += ", withdrawn before or left over" if before else _LEFT_OVER
    yield ReceiptLine("wallet", told, _sum(facts, changed))


_LEFT_OVER = ", left over in case the price moves"


def _sum(facts: ReceiptFacts, changed: Sequence[tuple[int, Address]]) -> str:
    """What came less what left, in dollars; nothing where the worth of any is unknown."""
    total = _worth(facts, changed)
    return "" if total is None else f"{'+' if total > 0 else ''}{usd(total)}"


def _costs(cost: TotalCost, facts: ReceiptFacts) -> Iterator[ReceiptLine]:
    """What the lines above come to, what the network takes, and both together."""
    gas, network, total = UNKNOWN, "", "" if cost.total is None else f"≈ {usd(cost.total)}"
    if facts.expected_gas is not None:
        gas = f"about {format_amount(facts.expected_gas, 18, 4)} {facts.network.native_symbol}"
        network = "" if cost.network is None else usd(cost.network)
    if not facts.gas:
        gas, network = "is paid by the account that executes it", ""
        total = total if cost.total else ""
    if cost.swap is not None and cost.swap < _CENT:
        yield ReceiptLine("pay", f"network {gas}", total)
        return
    swap = UNKNOWN if cost.swap is None else "fee and price impact"
    yield ReceiptLine("swap", swap, "" if cost.swap is None else usd(cost.swap))
    yield ReceiptLine("network", gas, network)
    planned, how = facts.planned_cost, "simulated just now" if total else UNKNOWN
    if planned is not None and total and usd(planned) != usd(cost.total):
        how = f"{how}; the plan estimated {usd(planned)}"
    yield ReceiptLine("pay", how, total)


def _price_words(facts: ReceiptFacts) -> str:
    """At which prices dollars are counted: a pool's own may be another; a dollar's goes unsaid."""
    moved = (token for _, _, amounts in _positions(facts) for _, token in amounts)
    changed = (token for token, amount in (facts.changes or {}).items() if amount)
    prices = {
        token.label: usd(facts.usd_per_unit[token.address] * 10**token.decimals)
        for token in map(facts.names.token, (*moved, *changed))
        if token.decimals is not None and token.address in facts.usd_per_unit
    }
    return ", ".join(f"{label} {price}" for label, price in prices.items() if price != usd(1))


def _halfway(facts: ReceiptFacts) -> str:
    """What is held where a transaction fails after one that paid out of positions."""
    acts = [(at, step) for at, step in enumerate(facts.steps, 1) if step_part(step) == "execute"]
    for (place, step), (later, following) in pairwise(acts):
        parts = [*_positions(replace(facts, steps=(step,)))]
        if parts and all(part != "get" for part, _, _ in parts):
            held = " + ".join(_all(facts, amounts) for _, _, amounts in parts)
            opens = any(_opened(replace(facts, steps=(following,))))
            none = " and no position" if opens else ""
            return f"If {later} fails after {place}, you hold {held}{none}."
    return ""


def _line(
    facts: ReceiptFacts,
    part: Literal["give", "collect", "get", "bound"],
    words: str,
    amounts: Amounts,
    bounds: Literal["", "comes out", "goes in"] = "",
) -> ReceiptLine:
    # The sum; nothing where the worth of any of them is unknown.
    worth = _worth(facts, amounts)
    dollars = "" if worth is None else usd(worth)
    told = f"{words} {_all(facts, amounts)}".strip()
    mark = {"": "", "comes out": _LEAST, "goes in": _MOST}[bounds]
    return ReceiptLine(part, told, f"{mark}{dollars}" if dollars else "", bounds)


def _with(pair: tuple[Address, Address] | None, amount0: int, amount1: int) -> Amounts:
    """What there is something of; both where there is nothing of either."""
    both = ((amount0, pair[0]), (amount1, pair[1])) if pair is not None else ()
    return tuple(amount for amount in both if amount[0]) or both


def _all(facts: ReceiptFacts, amounts: Amounts) -> str:
    if not amounts:
        return "an amount not in the bytes"
    return " + ".join(_amount(facts, amount, token) for amount, token in amounts)


def _amount(facts: ReceiptFacts, amount: int, address: Address) -> str:
    token = facts.names.token(address)
    if token.decimals is None:
        return f"{amount} units of {token.label}"
    return f"{format_amount(amount, token.decimals, _DIGITS)} {token.label}"


def _worth(facts: ReceiptFacts, amounts: Iterable[tuple[int, Address]]) -> float | None:
    """In dollars; None of nothing, and where the worth of any of them is unknown."""
    moved = [(amount, token) for amount, token in amounts if amount]
    if not moved or any(token not in facts.usd_per_unit for _, token in moved):
        return None
    return sum(amount * facts.usd_per_unit[token] for amount, token in moved)


def _swapped(swap: Sale) -> tuple[tuple[int, Address], tuple[int, Address]]:
    sold, bought = _tokens(swap.pool) if swap.zero_for_one else _tokens(swap.pool)[::-1]
    return (swap.amount_in, sold), (swap.amount_out_minimum, bought)


def _tokens(pool: CalldataPool) -> tuple[Address, Address]:
    return pool.currency0, pool.currency1


def _ticks(opened: Provision) -> tuple[int, int]:
    span = opened.span
    return (0, 0) if span is None else (span.tick_lower, span.tick_upper)


def _pair(opened: Provision, facts: ReceiptFacts) -> Pair | None:
    if opened.pool is None:
        return None
    token0, token1 = map(facts.names.token, _tokens(opened.pool))
    # Without a price of its own a range is read by its middle.
    price = facts.price_in(opened.pool) or sqrt_price_at_tick(sum(_ticks(opened)) // 2)
    return pair_of(facts.network, token0, token1, price)


def _range(facts: ReceiptFacts) -> RangeView | None:
    for effect in facts.effects:
        if not isinstance(effect, Provision) or effect.pool is None:
            continue
        price, pair, ticks = facts.price_in(effect.pool), _pair(effect, facts), _ticks(effect)
        if price is not None and pair is not None:
            low, high = pair.bounds(*ticks)
            progress = pair.progress(tick_at_sqrt_price(price), *ticks)
            return RangeView(low, high, pair.price_text(price), progress)
    return None
