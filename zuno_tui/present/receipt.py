"""A receipt before the fact: what is given, got and paid, out of the bytes and a trial of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from chain.base.units import LAST_SECOND, minute_text, time_text
from chain.contracts.addresses import checksummed
from chain.contracts.networks import NATIVE, Address, Network
from chain.execution.decode.parties import actions_of
from chain.execution.decode.records import (
    Action,
    DecodedBurn,
    DecodedDecrease,
    DecodedIncrease,
    DecodedMint,
    DecodedPoolKey,
    DecodedStep,
    DecodedSwapExactIn,
    Deposit,
    Multicall,
    Permit2Approval,
    TokenApproval,
    Unsubscribe,
    Withdraw,
)
from chain.math.price import format_amount
from chain.math.ticks import sqrt_price_at_tick, tick_at_sqrt_price
from chain.tokens.pair import Pair, pair_of
from zuno_tui.present.views import RangeView, ReceiptLine, ReceiptView
from zuno_tui.present.words import amount_of, round_usd

if TYPE_CHECKING:
    from chain.contracts.networks import Address
    from chain.execution.build.facts import PoolFacts
    from chain.execution.decode.words import Names
    from chain.tokens import Token
    from zuno_tui.gate.allowances import GivenAllowance
    from zuno_tui.present.output import Json


_LIMITLESS = 2**159
"""Beyond any supply: what wallets write who mean "everything"."""


def allowance_rows(
    given: Iterable[GivenAllowance], tokens: Mapping[Address, Token]
) -> Iterator[tuple[str, str, str, str]]:
    for one in given:
        token = tokens[one.token]
        through = " through Permit2" if one.through_permit2 else ""
        amount = "everything" if one.amount >= _LIMITLESS else amount_of(one.amount, token)
        yield token.label, one.spender_name + through, amount, _until(one.expiration)


def leftover_lines(
    given: Sequence[GivenAllowance], tokens: Mapping[Address, Token]
) -> Iterator[str]:
    """What an applied plan leaves allowed, and how to take it back."""
    for token, spender, amount, until in allowance_rows(given, tokens):
        yield f"  Still allowed: {spender} may move {amount} {token} until {until}."
    if given:
        yield "  Take it back: zuno revoke --all"


def allowance_document(given: Iterable[GivenAllowance]) -> list[Json]:
    return [
        {
            "token": one.token,
            "spender": one.spender,
            "throughPermit2": one.through_permit2,
            "amount": str(one.amount),
            "expiration": one.expiration,
        }
        for one in given
    ]


def _until(expiration: int | None) -> str:
    if expiration is None or expiration > LAST_SECOND:
        return "taken back"
    return time_text(expiration)


_DIGITS = 6
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

    @property
    def pair(self) -> tuple[Address, Address] | None:
        return None if self.pool is None else (self.pool.key.currency0, self.pool.key.currency1)

    def price_in(self, pool: DecodedPoolKey) -> int | None:
        """None of another pool than the one that was read."""
        known = self.pool
        if known is None or (known.key.currency0, known.key.currency1) != pool[:2]:
            return None
        return known.sqrt_price_x96

    @property
    def actions(self) -> tuple[Action, ...]:
        return tuple(action for step in self.steps for action in actions_of(step.call))

    @property
    def changes_positions(self) -> bool:
        changes = DecodedBurn | DecodedDecrease | DecodedIncrease | DecodedMint
        return any(isinstance(action, changes) for action in self.actions)


def receipt_of(facts: ReceiptFacts) -> ReceiptView:
    lines = (*_moved(facts), *_wrapping(facts), *_wallet(facts), *_paid(facts))
    return ReceiptView(tuple(lines), _range(facts))


def step_brief(step: DecodedStep, facts: ReceiptFacts) -> str:
    """What a step allows or does, in a line."""
    call, names = step.call, facts.names
    match call:
        case TokenApproval(spender, amount):
            return _leave(facts, spender, amount, step.transaction.to)
        case Permit2Approval(token, spender, amount, expiration):
            leave = _leave(facts, spender, amount, token)
            return f"{leave} until {minute_text(expiration)}" if amount else leave
        case Unsubscribe(token_id):
            return f"dismiss the subscriber of #{token_id}"
        case Deposit():
            return f"wrap {_amount(facts, step.transaction.value, NATIVE)}"
        case Withdraw(amount):
            return f"unwrap {_amount(facts, amount, step.transaction.to)}"
        case _:
            pass
    dismissed = call.calls if isinstance(call, Multicall) else ()
    told = [
        *(
            f"dismiss the subscriber of #{one.token_id}"
            for one in dismissed
            if isinstance(one, Unsubscribe)
        ),
        *filter(None, (_doing(action, facts) for action in actions_of(call))),
    ]
    return ", ".join(told) or f"call {names.place(step.transaction.to)}"


def _leave(facts: ReceiptFacts, spender: Address, amount: int, token: Address) -> str:
    known = facts.names.contracts.get(spender, "").removeprefix("the ") or checksummed(spender)
    if not amount:
        return f"let {known} move no more {facts.names.token(token).label}"
    return f"let {known} move {_amount(facts, amount, token)}"


def _doing(action: Action, facts: ReceiptFacts) -> str:
    match action:
        case DecodedBurn(token_id):
            return f"close #{token_id}"
        case DecodedDecrease(token_id, liquidity):
            return f"take out of #{token_id}" if liquidity else f"collect the fees of #{token_id}"
        case DecodedIncrease(token_id):
            return f"add to #{token_id}"
        case DecodedMint():
            return f"open {' – '.join(_pair(action, facts).bounds(*_ticks(action)))}"
        case DecodedSwapExactIn():
            (sold, bought) = _swapped(action)
            return f"sell {_all(facts, (sold,))} for at least {_all(facts, (bought,))}"
        case _:
            return ""


def _moved(facts: ReceiptFacts) -> Iterator[ReceiptLine]:
    """By the bytes: positions that end or begin, what they take at most and pay at least."""
    for action in facts.actions:
        match action:
            case DecodedBurn(token_id, least0, least1):
                least = _with(facts.pair, least0, least1)
                yield _line(facts, "give", f"position #{token_id}, for at least", least, _LEAST)
            case DecodedDecrease(token_id, liquidity, least0, least1) if liquidity:
                least = _with(facts.pair, least0, least1)
                told = f"a part of #{token_id}, for at least"
                yield _line(facts, "give", told, least, _LEAST)
            case DecodedDecrease(token_id):
                yield ReceiptLine("get", f"the fees of #{token_id}")
            case DecodedIncrease(token_id, _, most0, most1):
                most = _with(facts.pair, most0, most1)
                yield _line(facts, "give", f"into #{token_id} at most", most, _MOST)
            case DecodedMint(pool, _, _, _, most0, most1):
                most = _with((pool.currency0, pool.currency1), most0, most1)
                yield _line(facts, "get", "a position of at most", most, _MOST)
            case DecodedSwapExactIn() if facts.changes_positions:
                yield ReceiptLine("swap", f"on the way, {_doing(action, facts)}")
            case DecodedSwapExactIn():
                sold, bought = _swapped(action)
                yield _line(facts, "give", "to sell", (sold,))
                yield _line(facts, "get", "for that at least", (bought,), _LEAST)
            case _:
                pass


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
        yield ReceiptLine("wallet", "not all steps could be tried")
        return
    changed = [(amount, token) for token, amount in facts.changes.items() if amount]
    words = [
        f"{'+' if amount > 0 else '−'}{_amount(facts, abs(amount), token)}"
        for amount, token in changed
    ]
    yield ReceiptLine("wallet", "  ".join(words) or "no token more or less", _sum(facts, changed))


def _sum(facts: ReceiptFacts, changed: Sequence[tuple[int, Address]]) -> str:
    """What came less what left, in dollars; nothing where the worth of any is unknown."""
    if not changed or any(token not in facts.usd_per_unit for _, token in changed):
        return ""
    total = sum(amount * facts.usd_per_unit[token] for amount, token in changed)
    return f"{'+' if total > 0 else ''}{round_usd(total)}"


def _paid(facts: ReceiptFacts) -> Iterator[ReceiptLine]:
    rate = facts.usd_per_wei
    dollars = "" if rate is None else f"{_MOST}{round_usd(facts.gas * rate)}"
    coin = facts.network.native_symbol
    yield ReceiptLine("pay", f"gas at most {format_amount(facts.gas, 18, 4)} {coin}", dollars)


def _line(
    facts: ReceiptFacts,
    part: Literal["give", "get"],
    words: str,
    amounts: Amounts,
    bound: str = "",
) -> ReceiptLine:
    dollars = _dollars(facts, amounts)
    told = f"{words} {_all(facts, amounts)}"
    return ReceiptLine(part, told, f"{bound}{dollars}" if dollars else "")


def _with(pair: tuple[Address, Address] | None, amount0: int, amount1: int) -> Amounts:
    """What there is something of; both where there is nothing of either."""
    both = ((amount0, pair[0]), (amount1, pair[1])) if pair is not None else ()
    return tuple(one for one in both if one[0]) or both


def _all(facts: ReceiptFacts, amounts: Amounts) -> str:
    if not amounts:
        return "what its bytes do not name"
    return " + ".join(_amount(facts, amount, token) for amount, token in amounts)


def _amount(facts: ReceiptFacts, amount: int, address: Address) -> str:
    token = facts.names.token(address)
    if token.decimals is None:
        return f"{amount} units of {token.label}"
    return f"{format_amount(amount, token.decimals, _DIGITS)} {token.label}"


def _dollars(facts: ReceiptFacts, amounts: Iterable[tuple[int, Address]]) -> str:
    """The sum; nothing where the worth of any of them is unknown."""
    worths = [
        amount * facts.usd_per_unit[token] if token in facts.usd_per_unit else None
        for amount, token in amounts
        if amount
    ]
    known = [worth for worth in worths if worth is not None]
    return round_usd(sum(known)) if known and len(known) == len(worths) else ""


def _swapped(swap: DecodedSwapExactIn) -> tuple[tuple[int, Address], tuple[int, Address]]:
    pair = (swap.pool.currency0, swap.pool.currency1)
    sold, bought = pair if swap.zero_for_one else pair[::-1]
    return (swap.amount_in, sold), (swap.amount_out_minimum, bought)


def _ticks(mint: DecodedMint) -> tuple[int, int]:
    return mint.tick_lower, mint.tick_upper


def _pair(mint: DecodedMint, facts: ReceiptFacts) -> Pair:
    tokens = (facts.names.token(mint.pool.currency0), facts.names.token(mint.pool.currency1))
    # Without a price of its own a range is read by its middle.
    price = facts.price_in(mint.pool) or sqrt_price_at_tick(sum(_ticks(mint)) // 2)
    return pair_of(facts.network, *tokens, price)


def _range(facts: ReceiptFacts) -> RangeView | None:
    for action in facts.actions:
        price = facts.price_in(action.pool) if isinstance(action, DecodedMint) else None
        if isinstance(action, DecodedMint) and price is not None:
            pair, ticks = _pair(action, facts), _ticks(action)
            low, high = pair.bounds(*ticks)
            progress = pair.progress(tick_at_sqrt_price(price), *ticks)
            return RangeView(low, high, pair.price_text(price), progress)
    return None
