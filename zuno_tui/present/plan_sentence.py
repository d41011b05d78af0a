"""A plan in one sentence: what to do with which position, what it costs, and what it is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.lp.advice_words import edge_words
from agents.numbers.advice import DECIDES_ALONE, AdviceReason
from agents.numbers.rules import PlanVerdict
from chain.base.units import UNKNOWN, hours
from chain.contracts.networks import Network, UnknownNetworkError, network_named
from chain.tokens import Token, ask_tokens, unlisted_token
from chain.tokens.pair import Pair, pair_of
from zuno_tui.present.words import fee_text, round_usd

if TYPE_CHECKING:
    from agents.lp.plan import Candidate, Plan, PlanPoolFacts
    from agents.scorecard.track_record import TrackRecord
    from chain.base.store import Store


class PlanPool(Struct, frozen=True):
    pair: Pair
    tick: int
    """Where the price was when the plan was made."""
    fee: int
    """Pips, as the providers took them then."""
    edge_7d: float | None
    """What it paid over what arbitrage took, in seven days."""

    def edges(self, tick_lower: int, tick_upper: int) -> tuple[int, int]:
        """Ticks from the price to the range's edges, the lower price first."""
        below, above = tick_lower - self.tick, tick_upper - self.tick
        return (-above, -below) if self.pair.inverted else (below, above)

    def sold_and_bought(self, *, zero_for_one: bool) -> tuple[Token, Token]:
        tokens = (self.pair.token0, self.pair.token1)
        return tokens if zero_for_one else tokens[::-1]


def plan_pools(plan: Plan, store: Store | None = None) -> dict[str, PlanPool]:
    """By pool id; nothing where the plan's network is none this zuno knows."""
    try:
        network = network_named(str(plan.chain_id))
    except UnknownNetworkError:
        return {}
    return {one.pool_id: _plan_pool(one, network, store) for one in plan.pools}


def _plan_pool(facts: PlanPoolFacts, network: Network, store: Store | None) -> PlanPool:
    token0 = _token(facts.currency0, facts.decimals0, network, store)
    token1 = _token(facts.currency1, facts.decimals1, network, store)
    pair = pair_of(network, token0, token1, facts.sqrt_price_x96)
    return PlanPool(pair, facts.tick, facts.lp_fee, facts.edge_7d)


def _token(address: str, decimals: int | None, network: Network, store: Store | None) -> Token:
    """By the list or the memory; a token neither knows is told by its address."""
    known = ask_tokens(network, [address], store).known
    return known.get(address) or unlisted_token(network, address, b"", decimals)


_VERBS = {"tighten": "Tighten", "widen": "Widen", "shift": "Shift"}
_CAUTION = {
    PlanVerdict.APPROVE: "",
    PlanVerdict.APPROVE_WITH_CAUTION: "with caution",
    PlanVerdict.REJECT: "advised against",
}


def plan_sentence(
    plan: Plan, pools: Mapping[str, PlanPool], record: TrackRecord | None = None
) -> str:
    """`Widen #26 to 2,893 – 3,301. Costs $16, earns it back in 16 h; …`."""
    told = option_words(plan, plan.recommended, pools)
    if plan.choice.kind == "hold":
        return " ".join((told, *_sentences(plan.choice.reasons[:1]), *_record(record)))
    costs = _cost(plan.recommended)
    if record is not None:
        costs = f"{costs}; {record.words}"
    return " ".join((told, f"{costs}.", *(_why_leave(plan) if plan.choice.kind == "exit" else ())))


def _why_leave(plan: Plan) -> Iterator[str]:
    if plan.choice.codes[0] is AdviceReason.DANGER:
        # What a hook may do is told of "it": here nobody has named it yet.
        yield "Its pool has a hook that is a danger."
    yield from _sentences(plan.choice.reasons[:1])


def option_words(plan: Plan, one: Candidate, pools: Mapping[str, PlanPool]) -> str:
    """What an option does, and to which position."""
    which = f"#{plan.position}"
    match one.kind:
        case "hold":
            return "Keep the tokens." if plan.position is None else f"Leave {which} as it is."
        case "exit":
            return f"Close {which} and take its tokens back."
        case "create":
            return f"Open {_pool_words(pools.get(one.pool_id))} at {range_words(one, pools)}."
        case _:
            return f"{_VERBS[one.kind]} {which} to {range_words(one, pools)}."


def range_words(one: Candidate, pools: Mapping[str, PlanPool]) -> str:
    """The range in prices; in ticks where the pool's tokens are unknown."""
    if one.tick_lower is None or one.tick_upper is None:
        return "–"
    pool = pools.get(one.pool_id)
    if pool is None:
        return f"ticks {one.tick_lower} – {one.tick_upper}"
    return " – ".join(pool.pair.bounds(one.tick_lower, one.tick_upper))


def decided_words(plan: Plan, pools: Mapping[str, PlanPool]) -> str:
    """How sure, what the pool pays, and who decided: said quietly under the sentence."""
    pool = pools.get(plan.recommended.pool_id)
    pays = "" if pool is None else f"the pool {edge_words(pool.edge_7d)}"
    caution = "" if plan.choice.kind == "hold" else _CAUTION[plan.verdict]
    return " · ".join(part for part in (caution, pays, _decided_by(plan)) if part)


def _decided_by(plan: Plan) -> str:
    """Whoever chose; the rule, where no proposal could have changed what it says."""
    if plan.position is not None and plan.choice.codes[0] in DECIDES_ALONE:
        return "decided by the rule, whatever is proposed"
    rounds = "1 round" if plan.rounds == 1 else f"{plan.rounds} rounds"
    return f"decided by {plan.decided_by}, {rounds}"


def _pool_words(pool: PlanPool | None) -> str:
    return "a position" if pool is None else f"{pool.pair.name} {fee_text(pool.fee)}"


def _cost(one: Candidate) -> str:
    if one.cost_usd is None:
        return f"What it costs is {UNKNOWN}"
    costs = f"Costs {round_usd(one.cost_usd)}"
    if one.kind == "exit":
        return costs
    if not one.breaks_even:
        return f"{costs}, and never earns it back"
    if one.break_even_hours is None:
        return f"{costs}; when it earns that back is {UNKNOWN}"
    return f"{costs}, earns it back in {hours(one.break_even_hours)}"


def _record(record: TrackRecord | None) -> Iterator[str]:
    if record is not None:
        yield f"{record.words}."


def _sentences(reasons: tuple[str, ...]) -> Iterator[str]:
    for reason in reasons:
        yield f"{reason[0].upper()}{reason[1:].rstrip('.')}."
