"""`zuno diff PLAN`: what is held against what a plan would make of it, side by side."""

from collections.abc import Iterator

from msgspec import Struct

from agents.bus.envelope import Payload
from agents.lp.plan import Candidate, Plan
from chain.base.units import usd
from chain.contracts.networks import Network
from chain.math.liquidity import Amounts
from chain.math.price import format_amount
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.batch_reader import read_positions
from chain.positions.overview import tokens_at
from chain.protocols.reference import position_label, position_name
from chain.tokens import Token
from chain.tokens.pair import pair_of
from zuno_tui.app.plans import same_network, stored_plan
from zuno_tui.app.session import Session
from zuno_tui.gate.actions.plan import capital_of, chosen_candidate, find_pool
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.output import Json, table
from zuno_tui.present.plan_card import plan_subject
from zuno_tui.present.terminal import columns

_DIGITS, _DUST = 6, 8
_COLUMNS = columns("", "NOW>", "THEN>")


class PlanDifference(Struct, frozen=True):
    """Both sides as the plan found them at its block; amounts by currency of the pool."""

    plan: Plan
    new: Candidate
    available: tuple[int, int]
    """What the position holds and has earned, or the capital of a new one."""

    @property
    def shortfall(self) -> tuple[int, int]:
        """What the new range takes beyond what is there, to be bought by the swap."""
        if self.new.kind == "exit":
            return 0, 0
        new = self.new
        there = Amounts(*self.available).less(Amounts(new.withdrawn0, new.withdrawn1))
        return max(0, new.amount0 - there.amount0), max(0, new.amount1 - there.amount1)


async def plan_difference(
    session: Session, plan_id: str | None, candidate: str | None
) -> CommandAnswer:
    plan = stored_plan(session, plan_id).plan
    difference = _difference(plan, chosen_candidate(plan, candidate))
    if session.as_json:
        # Programs know the tokens by their addresses, and need no network for it.
        return CommandAnswer((), _document(difference))
    same_network(session, plan)
    tokens = await _tokens(session, difference)
    return CommandAnswer(tuple(_lines(session.network, difference, tokens)), _document(difference))


def _difference(plan: Plan, new: Candidate) -> PlanDifference:
    if plan.exit is None:
        return PlanDifference(plan, new, capital_of(new))
    return PlanDifference(plan, new, (plan.exit.amount0, plan.exit.amount1))


async def _tokens(session: Session, difference: PlanDifference) -> tuple[Token, Token]:
    ref = difference.plan.position
    async with session.sources() as sources:
        if ref is None:
            pool = (await find_pool(sources, difference.new.pool_id)).pool
            return pool.token0, pool.token1
        found = await read_positions(sources.client, session.network, sources.memory, [ref])
        if ref not in found:
            raise GateRefusedError(
                f"Position {position_label(ref)} is gone: there is nothing to compare. "
                "See yours: zuno positions"
            )
        key = found[ref].pool.key
        pair = (key.currency0, key.currency1)
        known = await tokens_at(sources, pair, "latest")
    return known[pair[0]], known[pair[1]]


def _lines(
    network: Network, difference: PlanDifference, tokens: tuple[Token, Token]
) -> Iterator[str]:
    plan, new, old = difference.plan, difference.new, difference.plan.hold
    yield f"{plan.plan_id} · {plan_subject(plan)} · {new.kind} · block {plan.block:,}"
    yield ""
    ranges = [_prices(network, candidate, tokens) for candidate in (old, new)]
    rows = [["range", *ranges]]
    pairs = zip(tokens, difference.available, (new.amount0, new.amount1), strict=True)
    rows += [
        [token.label, short_amount(was, token), short_amount(will, token)]
        for token, was, will in pairs
    ]
    rows.append(["fees a day", usd(old.fee_yield_24h), usd(new.fee_yield_24h)])
    yield from table(_COLUMNS, rows)
    yield ""
    if new.prep_action is not None:
        sold, bought = tokens if new.prep_action.zero_for_one else tokens[::-1]
        yield (
            f"  swap          {short_amount(new.prep_action.amount_in, sold)} {sold.label} for "
            f"{short_amount(new.prep_action.amount_out, bought)} {bought.label}"
        )
    if left := _amounts((new.residual0, new.residual1), tokens):
        yield f"  left over     {left}: stays in the wallet, in case the price moves"
    if before := _amounts((new.withdrawn0, new.withdrawn1), tokens):
        yield f"  withdrawn     {before}: you took it out before, it comes to the wallet"
    yield f"  total cost    {usd(new.cost_usd)}, network cost {usd(new.gas_usd)} of it"


def _prices(network: Network, candidate: Candidate, tokens: tuple[Token, Token]) -> str:
    if candidate.tick_lower is None or candidate.tick_upper is None:
        return "–"
    middle = sqrt_price_at_tick((candidate.tick_lower + candidate.tick_upper) // 2)
    low, high = pair_of(network, *tokens, middle).bounds(candidate.tick_lower, candidate.tick_upper)
    return f"{low} – {high}"


def _amounts(amounts: tuple[int, int], tokens: tuple[Token, Token]) -> str:
    """What there is a visible amount of; nothing where it is dust."""
    told = [
        f"{short_amount(amount, token)} {token.label}"
        for amount, token in zip(amounts, tokens, strict=True)
        if token.decimals is None or amount * 10**_DUST >= 10**token.decimals
    ]
    return " + ".join(told)


def short_amount(amount: int, token: Token) -> str:
    """In six digits; of a token without decimals in units."""
    if token.decimals is None:
        return str(amount)
    return format_amount(amount, token.decimals, _DIGITS)


def _document(difference: PlanDifference) -> Json:
    plan, new, old = difference.plan, difference.new, difference.plan.hold
    (held0, held1), swap = difference.available, new.prep_action
    return {
        **_fields(plan, "plan_id", "block"),
        **_fields(new, "kind", "cost_usd", "gas_usd"),
        "position": None if plan.position is None else position_name(plan.position),
        "old": {**_range(old), "amount0": str(held0), "amount1": str(held1)},
        "new": _range(new),
        "shortfall": [str(amount) for amount in difference.shortfall],
        "residual": [str(new.residual0), str(new.residual1)],
        "withdrawn": [str(new.withdrawn0), str(new.withdrawn1)],
        "swap": None if swap is None else _fields(swap, "zero_for_one", "amount_in", "amount_out"),
    }


def _range(candidate: Candidate) -> dict[str, Json]:
    return _fields(candidate, "tick_lower", "tick_upper", "amount0", "amount1", "liquidity")


def _fields(payload: Payload, *names: str) -> dict[str, Json]:
    return payload.model_dump(mode="json", by_alias=True, include=set(names))
