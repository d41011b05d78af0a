"""What a person wants of a position without asking anybody's opinion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.quantity import Known, Quantity
from chain.execution.build.facts import PositionFacts, Tolerance, position_facts
from chain.execution.build.requests import (
    CloseRequest,
    CollectRequest,
    CompoundRequest,
    DecreaseRequest,
    IncreaseRequest,
    PositionRequest,
)
from chain.execution.build.sizing import drift_band, most_taken
from chain.math.liquidity import Amounts, LiquidityError, liquidity_for_amounts
from chain.read.block_reader import OneBlock
from chain.tokens.reading import balance_call, balance_of
from chain.tokens.token import amount_text
from zuno_tui.gate.actions.action import Action, owned_position, spendable_tokens
from zuno_tui.gate.actions.target import subject_of
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.worth import ActionWorth, read_worth

if TYPE_CHECKING:
    from chain.base.units import Numeral
    from chain.contracts.networks import Address
    from chain.positions.overview import Sources
    from chain.positions.snapshot import PositionSnapshot

_PLENTY = 2**127 - 1
_SOME_LIQUIDITY = 2**64
_ALL = 100


class HeldPosition(Struct, frozen=True):
    """A position of the wallet, with what its tokens are worth."""

    snapshot: PositionSnapshot
    facts: PositionFacts
    worth: ActionWorth
    tokens: tuple[Address, ...]

    @property
    def token_id(self) -> int:
        return self.snapshot.token_id

    def action(self, verb: str, headline: str, request: PositionRequest) -> Action:
        return Action(
            f"{verb}_{self.token_id}_{self.snapshot.block.number}",
            headline,
            request,
            subject_of(self.snapshot),
            self.tokens,
            self.worth.usd_per_unit,
            self.worth.usd_per_wei,
            scaled_by=self.worth.tokens,
            disputes=self.worth.disputes,
        )


async def action_to_close(sources: Sources, token_id: int, owner: Address) -> Action:
    mine = await _owned(sources, token_id, owner)
    return mine.action("close", f"Leave position #{token_id}", CloseRequest(mine.facts))


async def action_to_collect(sources: Sources, token_id: int, owner: Address) -> Action:
    mine = await _owned(sources, token_id, owner)
    headline = f"Collect the fees of position #{token_id}"
    return mine.action("collect", headline, CollectRequest(mine.facts))


async def action_to_compound(sources: Sources, token_id: int, owner: Address) -> Action:
    mine = await _owned(sources, token_id, owner)
    headline = f"Put the fees of position #{token_id} back into its range"
    return mine.action("compound", headline, CompoundRequest(mine.facts))


async def action_to_decrease(
    sources: Sources, token_id: int, owner: Address, percent: int
) -> Action:
    if percent >= _ALL:
        raise GateRefusedError(
            f"{percent} % is all of position #{token_id}, or more. "
            f"To leave it: zuno close {token_id}"
        )
    if percent < 1:
        raise GateRefusedError(
            f"{percent} % cannot be taken out of position #{token_id}. Name a part from 1 to 99."
        )
    mine = await _owned(sources, token_id, owner)
    headline = f"Take {percent} % out of position #{token_id}"
    return mine.action("decrease", headline, DecreaseRequest(mine.facts, percent))


async def action_to_increase(
    sources: Sources, token_id: int, owner: Address, amount: Numeral, symbol: str
) -> Action:
    """At most this much of the one token, and of the other what the range takes beside it."""
    mine = await _owned(sources, token_id, owner, spending=True)
    place = _place_of(mine, symbol)
    token = mine.worth.tokens[mine.tokens[place]]
    units = None if token.decimals is None else amount.scaled(token.decimals)
    if units is None or not 0 < units <= _PLENTY:
        raise GateRefusedError(f"{amount.text} is no amount of {token.label} that can be added.")
    budget = await _budget(sources, mine, owner, place, units)
    headline = f"Add {amount_text(units, token)} and what it takes beside to position #{token_id}"
    return mine.action("increase", headline, IncreaseRequest(mine.facts, budget))


async def _owned(
    sources: Sources, token_id: int, owner: Address, *, spending: bool = False
) -> HeldPosition:
    snapshot = await owned_position(sources, token_id, owner, "latest")
    spendable = spendable_tokens(sources.network, snapshot.pool.key)
    tokens = spendable if spending else spendable[:2]
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
        f"Position #{mine.token_id} takes {holds}, not {named!r}. Name one of them by its "
        "symbol, or by its address where the symbol is not vouched for."
    )


async def _budget(
    sources: Sources, mine: HeldPosition, owner: Address, place: int, units: int
) -> Amounts:
    span, price = mine.facts.span, mine.facts.pool.sqrt_price_x96
    other = mine.worth.tokens[mine.tokens[1 - place]]
    if span.holds(price, _SOME_LIQUIDITY, round_up=True)[place] == 0:
        raise GateRefusedError(
            f"At the present price position #{mine.token_id} takes {other.label} alone. "
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
    if isinstance(balance, Known) and now[1 - place] <= balance.value < beside:
        beside = balance.value
    return Amounts(units, beside) if place == 0 else Amounts(beside, units)


async def _balance(
    sources: Sources, mine: HeldPosition, owner: Address, token: Address
) -> Quantity[int]:
    block = mine.snapshot.block
    here = OneBlock(sources.client, sources.network, block.hash)
    answers = await here.read([balance_call(sources.network, owner, token)])
    return balance_of(answers.outcomes[0], block)
