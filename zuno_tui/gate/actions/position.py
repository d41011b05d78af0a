"""What a person wants of a position without asking anybody's opinion."""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import Known, Numeral, Quantity
from chain.contracts.networks import NATIVE, Address
from chain.execution.plan.facts import PositionFacts, Tolerance, position_facts
from chain.execution.plan.requests import (
    CloseRequest,
    CollectRequest,
    CompoundRequest,
    DecreaseRequest,
    IncreaseRequest,
    PositionRequest,
    SeveralRequest,
)
from chain.execution.plan.sizing import buys_liquidity
from chain.math.drift import drift_band, most_taken
from chain.math.liquidity import Amounts, LiquidityError, liquidity_for_amounts
from chain.positions.discovery import Discovery
from chain.positions.overview import Sources
from chain.protocols.reference import PositionRef, position_label, position_name
from chain.protocols.snapshot import PositionSnapshot
from chain.read.block_reader import OneBlock
from chain.tokens.reading import balance_call, balance_of
from chain.tokens.token import amount_text
from zuno_tui.gate.actions.action import (
    Action,
    owned_position,
    owned_positions,
    pair_of,
    spendable_tokens,
    subject_of,
    wraps_coin,
)
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.worth import ActionWorth, read_worth

_PLENTY = 2**127 - 1
_SOME_LIQUIDITY = 2**64
_ALL = 100
_MOST_NAMED = 8


class HeldPosition(Struct, frozen=True):
    """A position of the wallet, with what its tokens are worth."""

    snapshot: PositionSnapshot
    facts: PositionFacts
    worth: ActionWorth
    tokens: tuple[Address, ...]

    @property
    def ref(self) -> PositionRef:
        return self.snapshot.ref

    def action(self, verb: str, headline: str, request: PositionRequest) -> Action:
        return Action(
            f"{verb}_{self.ref}_{self.snapshot.block.number}",
            headline,
            request,
            subject_of(self.snapshot),
            self.tokens,
            self.worth.usd_per_unit,
            self.worth.usd_per_wei,
            scaled_by=self.worth.tokens,
            disputes=self.worth.disputes,
        )


Together = Literal["close", "collect", "compound"]
"""What can be done with several positions at once."""
_HEADLINES: dict[Together, str] = {
    "close": "Close",
    "collect": "Collect the fees of",
    "compound": "Compound the fees of",
}


def _headline(verb: Together, held: Sequence[PositionFacts]) -> str:
    """What was taken out of a v3 range and waits there is no fee, and comes with a collect."""
    waits = verb == "collect" and any(any(facts.withdrawn) for facts in held)
    return "Collect fees and withdrawn tokens of" if waits else _HEADLINES[verb]


async def action_for(
    sources: Sources,
    verb: Together,
    refs: Sequence[PositionRef],
    owner: Address,
    *,
    native: bool = False,
) -> Action:
    """Of one position or of several; without a number of all that have something to give.

    Those that have nothing are named: nothing is left out silently.
    """
    if len(refs) == 1:
        [ref] = refs
        mine = await _held(sources, ref, owner)
        headline = f"{_headline(verb, [mine.facts])} position {position_label(mine.ref)}"
        coin = _paid_as_coin(sources, [mine.facts], native=native)
        mine = replace(mine, tokens=(*mine.tokens, *([NATIVE] if coin else ())))
        return mine.action(verb, headline, _request(verb, mine.facts, coin))
    missing, everything = None, not refs
    if everything:
        discovery = Discovery(sources.client, sources.network, sources.memory, every_protocol=True)
        wallet = await discovery.read(owner)
        refs, missing = [position.ref for position in wallet.positions], wallet.shortfall
    snapshots = await owned_positions(sources, refs, owner, "latest")
    idle = [snapshot for snapshot in snapshots if not _gives(verb, position_facts(snapshot))]
    taken = [snapshot for snapshot in snapshots if snapshot not in idle]
    # Fees are no reason to end what pays a subscriber: only who names the position asks for that.
    subscribed = [
        snapshot
        for snapshot in taken
        if everything and verb != "close" and snapshot.custody.subscriber is not None
    ]
    taken = [snapshot for snapshot in taken if snapshot not in subscribed] or taken
    if not taken:
        raise GateRefusedError(f"None of these positions has anything to {verb}.")
    pairs = (pair_of(snapshot.pool.key) for snapshot in taken)
    tokens = tuple(dict.fromkeys(token for pair in pairs for token in pair))
    held = [position_facts(snapshot) for snapshot in taken]
    coin = _paid_as_coin(sources, held, native=native)
    tokens = (*tokens, *([NATIVE] if coin and NATIVE not in tokens else ()))
    worth = await read_worth(sources, tokens, taken[0].block)
    parts = tuple(_request(verb, facts, coin) for facts in held)
    only = f"position {position_label(taken[0].ref)}"
    count = f"{len(taken)} positions" if len(taken) > 1 else only
    named = "_".join(str(snapshot.ref) for snapshot in taken[:_MOST_NAMED])
    return Action(
        f"{verb}_{named}_{taken[0].block.number}",
        f"{_headline(verb, held)} {count}",
        SeveralRequest(parts),
        subject_of(*taken),
        tokens,
        worth.usd_per_unit,
        worth.usd_per_wei,
        scaled_by=worth.tokens,
        disputes=worth.disputes,
        left_behind=(
            *_left_out(verb, idle),
            *_left_subscribed(verb, [each for each in subscribed if each not in taken]),
            *(() if missing is None else (missing,)),
        ),
    )


def _paid_as_coin(
    sources: Sources, held: Sequence[PositionFacts], *, native: bool
) -> frozenset[PositionRef]:
    """The positions that pay their wrapped coin out as the coin, where that is wanted."""
    if not native:
        return frozenset()
    paying = frozenset(facts.ref for facts in held if wraps_coin(sources.network, facts.pool.key))
    if not paying:
        coin = sources.network.native_symbol
        raise GateRefusedError(
            f"None of it can be paid out as {coin}: only v3's manager unwraps wrapped {coin}. "
            "Leave out --eth."
        )
    return paying


def _request(
    verb: Together, facts: PositionFacts, coin: frozenset[PositionRef]
) -> CloseRequest | CollectRequest | CompoundRequest:
    match verb:
        case "close":
            return CloseRequest(facts, native=facts.ref in coin)
        case "collect":
            return CollectRequest(facts, native=facts.ref in coin)
        case "compound":
            return CompoundRequest(facts)


def _gives(verb: Together, facts: PositionFacts) -> bool:
    if verb == "collect":
        return any(facts.amounts_owed)
    if verb == "compound":
        price = facts.pool.sqrt_price_x96
        return bool(facts.liquidity) and buys_liquidity(facts.span, price, facts.fees)
    return True


def _left_out(verb: Together, idle: Sequence[PositionSnapshot]) -> Iterator[str]:
    if idle:
        names = ", ".join(position_label(snapshot.ref) for snapshot in idle)
        why = "no fees to collect" if verb == "collect" else "no fees that its range can take now"
        yield f"Left out: {names} ({why})."


def _left_subscribed(verb: Together, subscribed: Sequence[PositionSnapshot]) -> Iterator[str]:
    for snapshot in subscribed:
        yield (
            f"Left out: {position_label(snapshot.ref)} (subscribed). To {verb} it and end its "
            f"subscription: zuno {verb} {position_name(snapshot.ref)}"
        )


async def action_to_decrease(
    sources: Sources, ref: PositionRef, owner: Address, percent: int, *, native: bool = False
) -> Action:
    if percent >= _ALL:
        raise GateRefusedError(
            f"{percent}% is all of position {position_label(ref)}, or more. "
            f"To close it: zuno close {position_name(ref)}"
        )
    if percent < 1:
        raise GateRefusedError(
            f"{percent}% cannot be taken out of position {position_label(ref)}. "
            "Name a part from 1 to 99."
        )
    mine = await _held(sources, ref, owner)
    headline = f"Remove {percent}% of position {position_label(ref)}"
    coin = _paid_as_coin(sources, [mine.facts], native=native)
    mine = replace(mine, tokens=(*mine.tokens, *([NATIVE] if coin else ())))
    return mine.action("decrease", headline, DecreaseRequest(mine.facts, percent, bool(coin)))


async def action_to_increase(
    sources: Sources, ref: PositionRef, owner: Address, amount: Numeral, symbol: str
) -> Action:
    """At most this much of the one token, and of the other what the range takes beside it."""
    mine = await _held(sources, ref, owner, spending=True)
    network = sources.network
    native = symbol.lower() == network.native_symbol.lower() and wraps_coin(
        network, mine.facts.pool.key
    )
    place = _place_of(mine, network.wrapped_native or symbol if native else symbol)
    token = mine.worth.tokens[mine.tokens[place]]
    units = None if token.decimals is None else amount.scale(token.decimals)
    if units is None or not 0 < units <= _PLENTY:
        raise GateRefusedError(f"{amount.text} {token.label} cannot be added: name another amount.")
    budget = await _budget(sources, mine, owner, place, units)
    named = replace(token, symbol=network.native_symbol) if native else token
    added = f"{amount_text(units, named)} and the other token it needs"
    headline = f"Add {added} to position {position_label(ref)}"
    return mine.action("increase", headline, IncreaseRequest(mine.facts, budget, native))


async def _held(
    sources: Sources, ref: PositionRef, owner: Address, *, spending: bool = False
) -> HeldPosition:
    snapshot = await owned_position(sources, ref, owner, "latest")
    key = snapshot.pool.key
    tokens = spendable_tokens(sources.network, key) if spending else pair_of(key)
    worth = await read_worth(sources, tokens, snapshot.block)
    return HeldPosition(snapshot, position_facts(snapshot), worth, tokens)


def _place_of(mine: HeldPosition, named: str) -> int:
    """Which of the pair is meant: by its address, or by a symbol that is vouched for."""
    pair = [mine.worth.tokens[token] for token in mine.tokens[:2]]
    for place, token in enumerate(pair):
        if named.lower() == token.address:
            return place
        if token.verified and named.lower() == token.symbol.lower():
            return place
    holds = " and ".join(token.label for token in pair)
    raise GateRefusedError(
        f"Position {position_label(mine.ref)} takes {holds}, not {named!r}. Name one of them by "
        "its symbol, or by its address where the symbol is not vouched for."
    )


async def _budget(
    sources: Sources, mine: HeldPosition, owner: Address, place: int, units: int
) -> Amounts:
    span, price = mine.facts.span, mine.facts.pool.sqrt_price_x96
    other = mine.worth.tokens[mine.tokens[1 - place]]
    if span.holds(price, _SOME_LIQUIDITY, round_up=True)[place] == 0:
        raise GateRefusedError(
            f"At the present price position {position_label(mine.ref)} takes {other.label} alone. "
            f"Name an amount of {other.label}."
        )
    given = Amounts(units, _PLENTY) if place == 0 else Amounts(_PLENTY, units)
    try:
        liquidity = liquidity_for_amounts(price, *span.sqrt_prices, *given)
    except LiquidityError as error:
        raise GateRefusedError(f"{error} Name a smaller amount.") from error
    now = span.holds(price, liquidity, round_up=True)
    # Beyond what is needed now, as much as the drift that is to be survived could ask for.
    most = most_taken(span, liquidity, drift_band(price, Tolerance().slippage_bips, span))
    beside = most[1 - place]
    balance = await _balance(sources, mine, owner, other.address)
    if isinstance(balance, Known) and now[1 - place] <= balance.value:
        beside = min(beside, balance.value)
    return Amounts(units, beside) if place == 0 else Amounts(beside, units)


async def _balance(
    sources: Sources, mine: HeldPosition, owner: Address, token: Address
) -> Quantity[int]:
    block = mine.snapshot.block
    here = OneBlock(sources.client, sources.network, block.hash)
    answers = await here.read([balance_call(sources.network, owner, token)])
    [outcome] = answers.outcomes
    return balance_of(outcome, block)
