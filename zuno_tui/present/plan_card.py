"""The plan card in text: hold, the moves and exit side by side, and what was decided."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from agents.lp.advice_words import (
    EVERY_PRICE,
    PASSES_EVERY_LIMIT,
    assumption_words,
    dissent_words,
    edge_figure,
    finding_words,
    findings_against,
    judged_words,
    move_name,
    option_letter,
    waits_for_price,
)
from agents.lp.plan import (
    Candidate,
    MoveJudgment,
    Plan,
    PlanPoolFacts,
    ReplayedRange,
)
from agents.lp.spoken import less_roomy
from agents.lp.statements import CLOSE, KEEP, Relation, Statement, claim, is_same_range
from agents.numbers.advice import DECIDES_ALONE, AdviceReason
from agents.numbers.calibrated import calibration_words
from agents.numbers.fees import apr
from agents.numbers.outlook import HOURS_PER_WEEK
from agents.numbers.rounding import gain_over
from agents.numbers.rules import PlanVerdict, Rule
from agents.scorecard.track_record import TrackRecord, track_record
from chain.base.store import Store
from chain.base.units import UNKNOWN, hours_cell, list_words, percent, usd
from chain.contracts.networks import Network, UnknownNetworkError, network_named
from chain.contracts.pool_key import DYNAMIC_FEE
from chain.protocols.reference import position_label
from chain.protocols.registry import protocol_of_pool
from chain.tokens import Token, ask_tokens, unlisted_token
from chain.tokens.pair import Pair, pair_of
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.argued_plan import ArguedPlan, silences_in
from zuno_tui.present.charts import bar
from zuno_tui.present.document import parts
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.output import OutputColumn, cell_width, table
from zuno_tui.present.terminal import line_width
from zuno_tui.present.transcript import wrap_text
from zuno_tui.present.words import (
    amount_of,
    fee_text,
    round_usd,
    screen_words,
    short_amount,
    short_interval,
    yearly_percent,
)

PLAN_TERMS = {
    "Keep, Close": "keep it as it is; close it and take the tokens back",
    "A, B, C": "the moves the agents argued about; approve B takes the second; where several do "
    "the same, with how wide they are",
    "pool": "the pool an option is in, where there are several; * is a fee that changes",
    "pays 7 d": "what the pool paid over what arbitrage took in 7 days; over 1 it pays",
    "range, from, to": "the prices between which it earns",
    "stays 24 h": "the chance that the price stays in the range for a day",
    "stays 7 d": "the same for a week; needs 30 days of prices",
    "net next 7 d": "fees less LVR less cost that the next week is expected to bring; NET 24H at "
    "the desk is measured over the past day",
    "over Keep": "what it is expected to net more than Keep in 7 days, its cost paid",
    "cost": "gas, swap fee and slippage, all of it",
    "earned back": "how long until what it nets more than Keep, while its range should last, "
    "has paid its cost; net and over Keep count 7 days",
    "8 weeks in 10": "8 weeks in 10 net between the two; what is expected lies between them",
    "fees a day": "what a day earns: 8 days in 10 end between the two",
    "LVR a day": "loss versus rebalancing: what arbitrage takes from the range in a day",
    "swaps": "what must be sold first to fill the range",
    "left over": "what stays in the wallet, so that the price may move until it is included",
    "lasts (95%)": "its buffer: how long the price stays in the range at 95% confidence",
    "lasts at 2σ": "the same if the price moves twice as wildly",
    "lasts at 3σ": "the same if it moves three times as wildly",
    "fees APR": "a day's fees as a share of the worth, scaled to a year",
    "LVR APR": "a day's LVR as a share of the worth, scaled to a year",
    "net APR": "fees APR less LVR APR",
    "past 24 h": "what the range would have netted over the last day, and how much was in range",
    "past 7 d": "the same over the last week",
    "judged": "chosen, allowed, still loses, or which limit of your profile it breaks",
}
POSITION_TERMS = {
    "ID": "the number of the position: inspect 7, recommend 7",
    "PAIR": "its two tokens and the pool's fee; * is a fee that changes",
    "VER": "v3 or v4, where there are positions of both",
    "STATE": "● in range and earning, ▲ near an edge, ✗ out of range, or empty",
    "RANGE": "the range from edge to edge, and the price in it or beyond it",
    "VALUE": "what its tokens are worth, without fees",
    "COLLECT": "what waits to be collected: fees, and on v3 what was withdrawn before",
    "APR 24H": "fees of the last 24 closed hours as a share of the value, scaled to a year",
    "VS HOLD": "what it won or lost against keeping the tokens that went in, gas paid; ~ is of an "
    "earlier read",
    "NET 24H": "measured: fees of the last 24 closed hours less LVR, what arbitrage took",
    "PRICE 24H": "by how much the pool's price changed in the last day",
    "PRICE": "the pool's price now",
    "FROM – TO": "the prices between which it earns",
    "NOTES": "a hook that can harm, a stranger who may move it, a subscriber",
}
ALERT_TERMS = {
    "NO": "the alert's own number: ack 3, mute 3 for 2h",
    "ALERT": "✗ critical, ▲ warning, · info, or what became of it",
    "ID": "the position it is about",
    "MESSAGE": "what is the matter, with its figures",
    "NEXT": "what to type about it; enter puts it in the prompt",
    "AGE": "since when",
}


class PlanPool(Struct, frozen=True):
    pair: Pair
    tick: int
    """Where the price was when the plan was made."""
    fee: int
    """Pips, as the providers took them then."""
    edge_7d: float | None
    """What it paid over what arbitrage took, in seven days."""
    price: str = ""
    dynamic: bool = False
    """Whether a hook may change the fee."""
    hooked: bool = False
    sqrt_price: int = 0
    protocol: str = ""
    """Where the plan speaks of pools of several."""

    @property
    def name(self) -> str:
        """`WETH/USDC 0.1%*`: as the list of positions marks a fee that changes."""
        mark = "*" if self.dynamic else " hook" if self.hooked else ""
        where = f"{self.protocol} " if self.protocol else ""
        return f"{where}{self.pair.name} {fee_text(self.fee)}{mark}"

    def edges(self, tick_lower: int, tick_upper: int) -> tuple[int, int]:
        """Ticks from the price to the range's edges, the lower price first."""
        below, above = tick_lower - self.tick, tick_upper - self.tick
        return (-above, -below) if self.pair.inverted else (below, above)

    def sold_and_bought(self, *, zero_for_one: bool) -> tuple[Token, Token]:
        tokens = (self.pair.token0, self.pair.token1)
        return tokens if zero_for_one else tokens[::-1]


_CandidateCell: TypeAlias = Callable[["Candidate", "PlanPool | None"], str]
"""Writes a candidate's cell of one column."""


def plan_pools(plan: Plan, store: Store | None = None) -> dict[str, PlanPool]:
    """By pool id; nothing where the plan's network is none this zuno knows."""
    try:
        network = network_named(str(plan.chain_id))
    except UnknownNetworkError:
        return {}
    found = {pool.pool_id: _plan_pool(pool, network, store) for pool in plan.pools}
    protocols = {pool_id: protocol_of_pool(pool_id).name for pool_id in found}
    if len(set(protocols.values())) < 2:
        return found
    return {each: replace(pool, protocol=protocols[each]) for each, pool in found.items()}


def _plan_pool(facts: PlanPoolFacts, network: Network, store: Store | None) -> PlanPool:
    token0 = _token(facts.currency0, facts.decimals0, network, store)
    token1 = _token(facts.currency1, facts.decimals1, network, store)
    pair = pair_of(network, token0, token1, facts.sqrt_price_x96)
    price = pair.price_text(facts.sqrt_price_x96)
    return PlanPool(
        pair,
        facts.tick,
        facts.lp_fee,
        facts.edge_7d,
        price,
        dynamic=facts.fee == DYNAMIC_FEE,
        hooked=int(facts.hooks, 16) != 0,
        sqrt_price=facts.sqrt_price_x96,
    )


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
    """`Widen #26 to 2,893 – 3,301. It should net $9.68 in 7 days, $6.01 more than Keep, …`."""
    told = [option_words(plan, plan.recommended, pools)]
    if plan.choice.kind == "exit" and plan.choice.codes[0] is AdviceReason.DANGER:
        # What a hook may do is told of "it": here nobody has named it yet.
        told.append("Its pool has a dangerous hook.")
    told += _sentences(plan.choice.reasons[:1])
    if plan.choice.kind == "move":
        told.append(_paid_back(plan.recommended).words)
    told += [] if record is None else [f"{record.words[:1].upper()}{record.words[1:]}."]
    return " ".join(told)


def card_statements(plan: Plan, pools: Mapping[str, PlanPool]) -> Iterator[Statement]:
    """Every sentence of the card that says something of its options, as it is shown."""
    yield Statement(plan_sentence(plan, pools), plan.choice.claims)
    if plan.choice.kind == "move":
        yield _paid_back(plan.recommended)
    yield from _ruled_out(plan)
    yield from _only_offered(plan)
    yield from less_roomy(plan)
    yield from (statement for move in plan.candidates for statement in _broken(move))


def _paid_back(move: Candidate) -> Statement:
    name = option_letter(move.index or 0)
    if not move.breaks_even:
        return Statement("It never earns its cost back.", (claim(name, Relation.NEVER),))
    if move.break_even_hours is None:
        return Statement(f"When it earns its cost back is {UNKNOWN}.")
    words = f"It earns its cost back in {hours_cell(move.break_even_hours)}."
    return Statement(words, (claim(name, Relation.PAYS_BACK, move.break_even_hours),))


def option_words(plan: Plan, candidate: Candidate, pools: Mapping[str, PlanPool]) -> str:
    """What an option does, and to which position."""
    which = "" if plan.position is None else position_label(plan.position)
    match candidate.kind:
        case "hold":
            return "Keep your tokens." if plan.position is None else f"Keep {which} as it is."
        case "exit":
            return f"Close {which} and take its tokens back."
        case "create":
            pool = _pool_words(pools.get(candidate.pool_id))
            return f"Open {pool} at {range_words(candidate, pools)}."
        case "migrate":
            pool = _pool_words(pools.get(candidate.pool_id))
            return f"Migrate {which} to {pool} at {range_words(candidate, pools)}."
        case _:
            return f"{_VERBS[candidate.kind]} {which} to {range_words(candidate, pools)}."


def range_words(candidate: Candidate, pools: Mapping[str, PlanPool]) -> str:
    """The range in prices; in ticks where the pool's tokens are unknown."""
    if candidate.tick_lower is None or candidate.tick_upper is None:
        return "–"
    pool = pools.get(candidate.pool_id)
    if pool is None:
        return f"ticks {candidate.tick_lower} – {candidate.tick_upper}"
    return " – ".join(pool.pair.bounds(candidate.tick_lower, candidate.tick_upper))


def decided_words(plan: Plan) -> str:
    """How sure, who wanted otherwise, and who decided: under the sentence."""
    caution = "" if plan.choice.kind == "hold" else _CAUTION[plan.verdict]
    told = (caution, *map(dissent_words, plan.dissent), _decided_by(plan))
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in told if part)


def deciding_figure(plan: Plan) -> str:
    """The row of the card by which it was chosen over moves that pass too."""
    return NET if plan.choice.kind == "move" and len(plan.candidates) > 1 else ""


def _decided_by(plan: Plan) -> str:
    """Whoever chose; the rule, where no proposal could have changed what it says."""
    if plan.position is not None and plan.choice.codes[0] in DECIDES_ALONE:
        return "decided by the rule alone"
    rounds = f", {plan.rounds} rounds" * (plan.rounds > 1)
    return f"decided by the {plan.decided_by}{rounds}"


def _pool_words(pool: PlanPool | None) -> str:
    return "a position" if pool is None else pool.name


def _sentences(reasons: tuple[str, ...]) -> Iterator[str]:
    for reason in reasons:
        yield screen_words(f"{reason[0].upper()}{reason[1:].rstrip('.')}.")


_BAR_CELLS = 8
_ROUNDING = 0.05
_CENT = 0.01


def plan_answer(argued: ArguedPlan, store: Store | None = None) -> CommandAnswer:
    """What was edited since it was made is said to be, and is no success."""
    edited, record = argued.is_edited, track_record(argued.plan, store)
    shown = {**argued.document, **({"edited": True} if edited else {})}
    if record is not None:
        shown["trackRecord"] = {
            **parts(record, "kind", "days", "against"),
            **parts(record.beaten, "beat", "judged"),
        }
    return CommandAnswer(
        lines=tuple(plan_lines(argued, plan_pools(argued.plan, store), record)),
        document=shown,  # type: ignore[arg-type]
        remarks=(edited_words(argued.plan),) if edited else (),
        code=FAILED if edited else DONE,
    )


def plan_lines(
    argued: ArguedPlan, pools: Mapping[str, PlanPool], record: TrackRecord | None = None
) -> Iterator[str]:
    plan = argued.plan
    yield wrap_text(f"{plan.plan_id} · {headline(plan)}", indent=2)
    yield wrap_text(plan_sentence(plan, pools, record), indent=0)
    decided = decided_words(plan)
    yield wrap_text(decided, indent=0)
    yield ""
    for lines in _option_tables(plan, pools, line_width()):
        yield from lines
        yield ""
    for sentence in (
        *reasons(plan, pools, argued=argued.model is not None),
        *model_talk(argued),
        *record_words(argued),
    ):
        if sentence.rstrip(".") not in decided:
            yield wrap_text(f"  {sentence}", indent=2)


def _option_tables(plan: Plan, pools: Mapping[str, PlanPool], width: int | None) -> list[list[str]]:
    """Options side by side; where they are wider than the terminal, in as few tables as fit it."""
    options, figures = listed_options(plan), figures_of(plan)

    def lines(names: Sequence[str]) -> list[str]:
        columns = [OutputColumn(""), *(OutputColumn(name.upper(), "right") for name in names)]
        rows = [
            [label, *(tell(options[name], pools.get(options[name].pool_id)) for name in names)]
            for label, tell in figures.items()
        ]
        told = [row for row in rows if any(cell != "–" for cell in row[1:])]
        return table(columns, told)

    names, found = tuple(options), [lines(tuple(options))]
    for parts_wanted in range(2, len(names) + 1):
        if width is None or all(cell_width(line) <= width for each in found for line in each):
            break
        size = -(-len(names) // parts_wanted)
        found = [lines(names[start : start + size]) for start in range(0, len(names), size)]
    return found


def listed_options(plan: Plan) -> dict[str, Candidate]:
    """By name, as they stand beside each other: where the pool does not pay, every price and Close
    come before all that would earn less than it loses."""
    moves = {move_name(move, plan.candidates): move for move in plan.candidates}
    leave = {} if plan.exit is None else {CLOSE: plan.exit}
    edges = {pool.pool_id: pool.edge_7d for pool in plan.pools}
    edge = edges.get(plan.hold.pool_id)
    if edge is None or edge >= 1:
        return {KEEP: plan.hold, **moves, **leave}
    everywhere = {name: move for name, move in moves.items() if name.endswith(EVERY_PRICE)}
    return {**everywhere, **leave, KEEP: plan.hold, **moves}


def edited_words(plan: Plan) -> str:
    return (
        f"The file of {plan.plan_id} was changed since it was made: nobody argued for what "
        "it says now, and it cannot be approved. Ask for a new plan: zuno recommend ID"
    )


def record_words(argued: ArguedPlan) -> Iterator[str]:
    """Where it was argued, and the hash that tells whether that record is still the same."""
    if argued.record_hash is not None:
        yield (
            f"Argued on the record {argued.request_id}, whose last hash is {argued.record_hash}."
        )


def reasons(plan: Plan, pools: Mapping[str, PlanPool], *, argued: bool = True) -> Iterator[str]:
    """Why this was chosen, what it takes, what it survives, and what the rules alone would do."""
    said = {option_letter(move.index or 0) for move in plan.candidates if limits_broken(move)}
    for reason in plan.choice.reasons:
        # As its column says, or the sentence about all that break the same limit.
        if reason != PASSES_EVERY_LIMIT and reason.partition(": ")[0] not in said:
            yield from _sentences((reason,))
    for statement in _ruled_out(plan):
        # The headline has told already which limit holds back what looks best.
        if statement.words.partition(": ")[2].rstrip(".") not in plan.choice.reasons[0]:
            yield statement.words
    if any(_pays_faster(move, plan.hold) for move in plan.candidates):
        yield ("Pay-back time assumes the average time in range; net and over Keep cover 7 days.")
    yield from _swap_words(plan, pools)
    kept = _kept_back(plan.recommended, pools.get(plan.recommended.pool_id))
    if kept is not None and kept >= _CENT:
        yield f"{usd(kept)} is left over, as a margin for price moves."
    yield from map(screen_words, _outside_words(plan, pools))
    yield assumption_words(plan.assumptions)
    if argued:
        yield _rules_words(plan)
    yield calibration_words(week=knows_week(plan))


def _rules_words(plan: Plan) -> str:
    """What the debate changed, if the range or the choice is another."""
    alone, move = plan.rules_alone, plan.rules_move
    if alone.kind == plan.choice.kind and (move is None or is_same_range(move, plan.recommended)):
        return "Without the debate the rules would have chosen the same."
    if move is None:
        return f"Without the debate the rules would have chosen {_ALONE[alone.kind]}."
    named = next((each.index for each in plan.candidates if is_same_range(each, move)), None)
    other = "another range" if named is None else f"option {option_letter(named)}"
    return f"Without the debate the rules would have chosen {other}."


_ALONE = {"hold": "to keep it", "exit": "to close it"}


def _swap_words(plan: Plan, pools: Mapping[str, PlanPool]) -> Iterator[str]:
    """What is sold and bought for the move that is recommended."""
    chosen, swap = plan.recommended, plan.recommended.prep_action
    pool = pools.get(chosen.pool_id)
    if swap is None or pool is None:
        return
    sold, bought = pool.sold_and_bought(zero_for_one=swap.zero_for_one)
    elsewhere = f"the {fee_text(swap.fee_pips)} pool, which pays most for it"
    yield (
        f"First {amount_of(swap.amount_in, sold)} {sold.label} are swapped for "
        f"{amount_of(swap.amount_out, bought)} {bought.label}: swap fee and price "
        f"impact cost {usd(_both(swap.cost_usd, swap.minting_loss_usd))} in "
        f"{'this pool' if swap.pool_id is None else elsewhere}."
    )
    if plan.bought is not None:
        yield f"You named no second token: this would buy {bought.label}."


def _both(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _outside_words(plan: Plan, pools: Mapping[str, PlanPool]) -> Iterator[str]:
    """That what HOLD is expected to earn out of range hangs on the price coming back."""
    hold, pool = plan.hold, pools.get(plan.hold.pool_id)
    if pool is not None and _is_outside(hold, pool) and hold.fee_yield_24h:
        yield (
            f"If kept, expect it in range for {percent(hold.in_range_share)} of the next 24 h, "
            f"earning {usd(hold.fee_yield_24h)}; the 7-day net allows for the price coming back "
            "later."
        )
    for move in plan.candidates:
        findings = () if move.judgment is None else move.judgment.findings
        entry = next((each.words for each in findings if each.rule is Rule.ENTERS), None)
        if entry is not None:
            yield f"{option_letter(move.index or 0)} needs no swap, and waits: {entry}."
    yield from (statement.words for statement in (*_only_offered(plan), *less_roomy(plan)))


def _only_offered(plan: Plan) -> Iterator[Statement]:
    """What waits beside the price is advised where nothing else should net more."""
    for name, move in listed_options(plan).items():
        findings = () if move.judgment is None else move.judgment.findings
        if move == plan.recommended or all(each.rule is not Rule.ENTERS for each in findings):
            continue
        better = [
            (more, other_name)
            for other_name, other in listed_options(plan).items()
            if (more := gain_over(other.net_7d, move.net_7d)) is not None and more > 0
        ]
        if better:
            more, best = max(better)
            waits, best = name.partition(" ")[0], best.partition(" ")[0]
            yield Statement(
                f"{waits} waits for the price, so it is offered, not advised: {best} "
                f"should net {usd(more)} more.",
                (claim(best, Relation.NETS_MORE, more, than=waits),),
            )


def model_talk(argued: ArguedPlan) -> Iterator[str]:
    """What the model took and how it kept to its numbers, where there was one."""
    used = argued.model
    if used is not None:
        most = "" if used.most_tokens is None else f" of {used.most_tokens:,}"
        price = f", ${used.dollars:.4f}" if used.dollars is not None and used.tokens else ""
        yield f"The model took {used.tokens:,}{most} tokens{price}."
        yield f"It cited {used.cited} numbers it was given; {used.struck} others were struck out."
    if silences := silences_in(argued):
        times = "once" if len(silences) == 1 else f"{len(silences)} times"
        yield f"Fixed rules replaced the model {times}. {silences[-1]}"


def headline(plan: Plan) -> str:
    return f"{plan_subject(plan)} · {circumstances(plan)}"


def plan_subject(plan: Plan) -> str:
    return (
        "a new position" if plan.position is None else f"position {position_label(plan.position)}"
    )


def circumstances(plan: Plan) -> str:
    """For whom, in what market and when it was argued."""
    return f"{plan.profile.value} · {plan.regime.value} market · block {plan.block:,}"


def _is_outside(candidate: Candidate, pool: PlanPool) -> bool:
    if candidate.tick_lower is None or candidate.tick_upper is None:
        return False
    return not candidate.tick_lower <= pool.tick < candidate.tick_upper


def _pool(candidate: Candidate, pool: PlanPool | None) -> str:
    return "–" if pool is None or candidate.tick_lower is None else pool.name


def _edge(candidate: Candidate, pool: PlanPool | None) -> str:
    if candidate.tick_lower is None:
        return "–"
    return UNKNOWN if pool is None else edge_figure(pool.edge_7d)


def _bound(place: int) -> _CandidateCell:
    def tell(candidate: Candidate, pool: PlanPool | None) -> str:
        if candidate.tick_lower is None or candidate.tick_upper is None:
            return "–"
        if pool is None:
            return f"tick {(candidate.tick_lower, candidate.tick_upper)[place]}"
        return pool.pair.bounds(candidate.tick_lower, candidate.tick_upper)[place]

    return tell


def _buffer(multiple: int) -> _CandidateCell:
    def tell(candidate: Candidate, _pool: PlanPool | None) -> str:
        if candidate.buffer_hours is None or waits_for_price(candidate):
            return "–"
        buffers = (
            candidate.buffer_hours.at_1x,
            candidate.buffer_hours.at_2x,
            candidate.buffer_hours.at_3x,
        )
        return hours_cell(buffers[multiple - 1])

    return tell


def _day(candidate: Candidate, _pool: PlanPool | None) -> str:
    if candidate.survival is None:
        return "–"
    return f"{bar(candidate.survival.day, _BAR_CELLS)} {percent(candidate.survival.day)}"


def _week(candidate: Candidate, _pool: PlanPool | None) -> str:
    if candidate.survival is None or candidate.survival.week is None:
        return "–"
    return f"{bar(candidate.survival.week, _BAR_CELLS)} {percent(candidate.survival.week)}"


def _fees(candidate: Candidate, pool: PlanPool | None) -> str:
    """Both ends: tomorrow's volume is not known."""
    if candidate.fee_low_24h is None or candidate.fee_high_24h is None:
        return UNKNOWN
    if candidate.fee_high_24h == 0:
        return usd(0.0)
    back = " if back" if pool is not None and _is_outside(candidate, pool) else ""
    return f"{short_interval(candidate.fee_low_24h, candidate.fee_high_24h)}{back}"


def _interval(candidate: Candidate, _pool: PlanPool | None) -> str:
    if candidate.net_low_7d is None or candidate.net_high_7d is None:
        return UNKNOWN
    if candidate.net_low_7d == candidate.net_high_7d:
        return "–"
    return short_interval(candidate.net_low_7d, candidate.net_high_7d)


def _yearly(
    part: Callable[[Candidate], float | None],
) -> _CandidateCell:
    """A day's dollars as a share of worth a year, the figure people compare."""

    def tell(candidate: Candidate, _pool: PlanPool | None) -> str:
        if candidate.tick_lower is None:
            return "–"
        amount = part(candidate)
        if amount is None or not candidate.value_usd:
            return UNKNOWN
        return yearly_percent(apr(amount, candidate.value_usd)).replace("-", "−")

    return tell


def _net_24h(candidate: Candidate) -> float | None:
    if candidate.fee_yield_24h is None or candidate.lvr_24h is None:
        return None
    return candidate.fee_yield_24h - candidate.lvr_24h


def _swap(candidate: Candidate, pool: PlanPool | None) -> str:
    swap = candidate.prep_action
    if swap is None:
        return "–"
    if pool is None:
        return f"costs {usd(swap.cost_usd)}"
    sold, _ = pool.sold_and_bought(zero_for_one=swap.zero_for_one)
    return f"{short_amount(swap.amount_in, sold)} {sold.label}"


def _kept_back(candidate: Candidate, pool: PlanPool | None) -> float | None:
    """What an option does not put in, in dollars, by what it puts in; None is unknown."""
    if pool is None or candidate.value_usd is None or candidate.kind == "hold":
        return None
    put_in, kept = (
        amount1 + (amount0 * pool.sqrt_price**2 >> 192)
        for amount0, amount1 in (
            (candidate.amount0, candidate.amount1),
            (candidate.residual0, candidate.residual1),
        )
    )
    return candidate.value_usd * kept / put_in if put_in and candidate.liquidity else None


def _left_over(candidate: Candidate, pool: PlanPool | None) -> str:
    kept = _kept_back(candidate, pool)
    return "–" if kept is None else usd(kept)


def _break_even(candidate: Candidate, _pool: PlanPool | None) -> str:
    if candidate.index is None or waits_for_price(candidate):
        return "–"
    if not candidate.breaks_even:
        return "never"
    hours_needed = candidate.break_even_hours
    return UNKNOWN if hours_needed is None else hours_cell(hours_needed)


def _replayed(
    past: Callable[[MoveJudgment], ReplayedRange | None],
) -> _CandidateCell:
    """What the range would have netted, had it been there, and how much of the way it was."""

    def tell(candidate: Candidate, _pool: PlanPool | None) -> str:
        found = None if candidate.judgment is None else past(candidate.judgment)
        if found is None:
            return "–"
        net = round_usd(found.fees_usd - found.lvr_usd)
        return f"{net} · {100 * found.in_range_share:.0f}%"

    return tell


def _judged(chosen: Candidate) -> _CandidateCell:
    """Why it wins or does not, in a word or two."""

    def tell(candidate: Candidate, _pool: PlanPool | None) -> str:
        if candidate == chosen:
            return "chosen"
        if candidate.judgment is None:
            return "–"
        return judged_words(candidate.judgment, candidate)

    return tell


def _ruled_out(plan: Plan) -> Iterator[Statement]:
    """For every limit that moves break a sentence; those that break it alike share one."""
    alike: dict[str, list[Candidate]] = {}
    for move in plan.candidates:
        for against in findings_against(move.judgment):
            alike.setdefault(finding_words(against, move).words, []).append(move)
    for words, moves in alike.items():
        letters = [option_letter(move.index or 0) for move in moves]
        are = "is" if len(letters) == 1 else "are"
        told = words if len(letters) == 1 else _of_each(words)
        claims = (
            made
            for move in moves
            for against in findings_against(move.judgment)
            if (found := finding_words(against, move)).words == words
            for made in found.claims
        )
        yield Statement(
            screen_words(f"{list_words(letters)} {are} ruled out: {told}."), tuple(claims)
        )


def limits_broken(move: Candidate) -> tuple[str, ...]:
    """Where an option that was ruled out is taken all the same: a sentence for every limit."""
    return tuple(statement.words for statement in _broken(move))


def _broken(move: Candidate) -> Iterator[Statement]:
    if move.index is not None:
        lead = f"{option_letter(move.index)} was ruled out"
        for against in findings_against(move.judgment):
            found = finding_words(against, move)
            yield Statement(screen_words(f"{lead}: {found.words}."), found.claims)


def _of_each(words: str) -> str:
    """`it never earns …` of several."""
    never = words.removeprefix("it never ")
    return f"none {never}" if never != words else words.replace("it ", "each ", 1)


def _pays_faster(move: Candidate, hold: Candidate) -> bool:
    """Whether a reader who divides the cost by the week's gain comes to another time."""
    more, cost, needed = gain_over(move.net_7d, hold.net_7d), move.cost_usd, move.break_even_hours
    if more is None or not cost or not needed or more + cost <= 0:
        return False
    return abs(HOURS_PER_WEEK * cost / (more + cost) / needed - 1) > _ROUNDING


NET, _OVER_KEEP, _JUDGED = "net next 7 d", "over Keep", "judged"
FIGURES: dict[str, _CandidateCell] = {
    "pool": _pool,
    "pays 7 d": _edge,
    "from": _bound(0),
    "to": _bound(1),
    "stays 24 h": _day,
    "stays 7 d": _week,
    NET: lambda one, _: usd(one.net_7d),
    _OVER_KEEP: lambda _, __: "–",
    "lasts (95%)": _buffer(1),
    _JUDGED: lambda _, __: "–",
    "cost": lambda one, _: usd(one.cost_usd),
    "earned back": _break_even,
    "8 weeks in 10": _interval,
    "fees a day": _fees,
    "LVR a day": lambda one, _: usd(one.lvr_24h),
    "swaps": _swap,
    "left over": _left_over,
    "lasts at 2σ": _buffer(2),
    "lasts at 3σ": _buffer(3),
    "fees APR": _yearly(lambda one: one.fee_yield_24h),
    "LVR APR": _yearly(lambda one: one.lvr_24h),
    "net APR": _yearly(_net_24h),
    "past 24 h": _replayed(lambda judgment: judgment.replay_24h),
    "past 7 d": _replayed(lambda judgment: judgment.replay_7d),
}
_OF_POOLS = ("pool", "pays 7 d")


def figures_of(plan: Plan) -> dict[str, _CandidateCell]:
    """The card's rows; which pool an option is in is told only where there are several, and a
    chance of seven days only where one is known."""
    several = len({candidate.pool_id for candidate in plan.candidates}) > 1
    left_out = set() if several else set(_OF_POOLS)
    if not knows_week(plan):
        left_out.add("stays 7 d")
    told = FIGURES | {
        _OVER_KEEP: _over_keep(plan.hold),
        _JUDGED: _judged(plan.recommended),
    }
    return {label: tell for label, tell in told.items() if label not in left_out}


def _over_keep(hold: Candidate) -> _CandidateCell:
    def tell(candidate: Candidate, _pool: PlanPool | None) -> str:
        more = gain_over(candidate.net_7d, hold.net_7d)
        if candidate == hold or more is None:
            return "–"
        return f"+{usd(more)}" if more > 0 else usd(more)

    return tell


def knows_week(plan: Plan) -> bool:
    """Whether volatility was known over 30 days, so that chances of seven days are given."""
    options = (plan.hold, *plan.candidates)
    return any(
        option.survival is not None and option.survival.week is not None for option in options
    )
