"""What agents say and show: pools, proposals, checks as tables, and where HOLD and EXIT stand."""

from collections.abc import Iterator, Sequence
from math import exp

from agents.bus.envelope import SpokenCell, SpokenRow, SpokenTable
from agents.lp import advice_words
from agents.lp.advice_words import AXES, coverage_statement, dissent_words, net_words, option_letter
from agents.lp.advising import advised_move, hours_since_action, standing_advice
from agents.lp.conclude import (
    chosen_move,
    is_permitted,
    observed_pool,
    outcome_by_rules,
)
from agents.lp.evaluation import Evaluated
from agents.lp.evaluation_context import evaluation_of
from agents.lp.facts import MarketContext, ObservedPool, ScoutContext
from agents.lp.judge import JudgedCandidate, JudgedRound
from agents.lp.payloads import Debate
from agents.lp.plan import Candidate, Plan, RuleFinding
from agents.lp.statements import CLOSE, KEEP, Relation, Statement, claim
from agents.numbers.advice import ENTER_OVER, HOURS_BETWEEN_ACTIONS, AdviceReason
from agents.numbers.edges import TICK_LOG, price_tick
from agents.numbers.rounding import gain_over
from agents.numbers.rules import NET_TIE_USD, PROFILES, JudgmentVerdict, Rule
from chain.base.units import GWEI, PIPS, UNKNOWN, hours, hours_cell, list_words, percent, usd
from chain.contracts.networks import NATIVE, UnknownNetworkError, network_named
from chain.contracts.pool_key import DYNAMIC_FEE
from chain.tokens import Token
from chain.tokens.pair import Pair, pair_of


def range_prices(context: ScoutContext, candidate: Candidate) -> str:
    """`2,893.1 – 3,301.4`; by how far its edges are from the price where decimals are unknown."""
    if candidate.tick_lower is None or candidate.tick_upper is None:
        return "in the wallet"
    observed = observed_pool(context, candidate.pool_id)
    return ticks_as_prices(context, observed, candidate.tick_lower, candidate.tick_upper)


def ticks_as_prices(context: ScoutContext, observed: ObservedPool, lower: int, upper: int) -> str:
    if observed.token0.decimals is None or observed.token1.decimals is None:
        price = price_tick(observed.pool.sqrt_price_x96)
        ends = (100 * (exp((tick - price) * TICK_LOG) - 1) for tick in (lower, upper))
        return " … ".join(f"{end:+.3g}%" for end in ends)
    return " – ".join(_pair(context, observed).bounds(lower, upper))


def price_now(context: ScoutContext, observed: ObservedPool) -> str | None:
    """None where a token's decimals are unknown, and with them what a price is."""
    if observed.token0.decimals is None or observed.token1.decimals is None:
        return None
    return _pair(context, observed).price_text(observed.pool.sqrt_price_x96)


def _pair(context: ScoutContext, observed: ObservedPool) -> Pair:
    """The way round the plan's card tells it."""
    pool = observed.pool
    token0 = _token(pool.currency0, observed.token0.decimals)
    token1 = _token(pool.currency1, observed.token1.decimals)
    try:
        network = network_named(str(context.chain_id))
    except UnknownNetworkError:
        return Pair(token0, token1, inverted=False)
    return pair_of(network, token0, token1, pool.sqrt_price_x96)


def _token(address: str, decimals: int | None) -> Token:
    return Token(address=address, symbol="", decimals=decimals, verified=False, suspicious=False)


_NOTHING = SpokenCell(text="–")
_CHECKS = {
    Rule.BUFFER_FLOOR: "lasts (95%)",
    Rule.GAS_YIELD: "gas ÷ fees",
    Rule.BREAK_EVEN: "earned back",
    Rule.OWN_SWAP: "impact",
    Rule.REPLAY: "fees past 24 h",
    Rule.ENTERS: "the way to the price",
    Rule.GOAL: "your goal",
}
"""A column for each rule that has a figure; the price's place and the hook are told by verdicts.

Past 24 h is what a day in the range paid in the swaps that were.
"""


_HARDLY = 0.0001
"""Of the price: a smaller move of it is none to speak of."""
_HUNDREDTH = 0.01
_RULE_NAMES = {
    Rule.PRICE_INSIDE: "the place of the price",
    Rule.HOOK: "the hook",
    Rule.BUFFER_FLOOR: "the time in range",
    Rule.GAS_YIELD: "gas",
    Rule.BREAK_EVEN: "break-even",
    Rule.OWN_SWAP: "price impact",
    Rule.REPLAY: "past fees",
    Rule.GOAL: "your goal",
}


def pools_table(context: ScoutContext) -> SpokenTable:
    """The pools that can take the capital, or what a position holds."""
    rows = []
    for index, observed in enumerate(context.pools):
        market = observed.market
        assumed = " assumed" if market.sigma_assumed else ""
        cells = (
            _pool_words(observed),
            price_now(context, observed) or UNKNOWN,
            f"{percent(market.sigma)}{assumed}",
            usd(market.fees_24h_usd),
            advice_words.edge_figure(market.edge_7d),
            observed.regime.value,
        )
        rows.append(_row(f"pool {index}", cells))
    columns = ("fee", "price", "volatility", "fees 24 h", "pays", "market")
    return SpokenTable(columns=columns, rows=tuple(rows))


def position_table(context: MarketContext) -> SpokenTable:
    """The range that is held, and the market that it is in."""
    observed, held = context.observed, context.position
    cells = (
        price_now(context, observed) or UNKNOWN,
        ticks_as_prices(context, observed, held.tick_lower, held.tick_upper),
        f"{percent(observed.market.sigma)} a day",
        usd(observed.market.fees_24h_usd),
        f"{context.gas.wei_per_gas / GWEI:.3g} gwei",
    )
    columns = ("price", "range", "volatility", "pool fees 24 h", "gas")
    return SpokenTable(columns=columns, rows=(_row("now", cells),))


def proposal_table(context: ScoutContext, moves: Sequence[Evaluated]) -> SpokenTable | None:
    """The ranges that are proposed, by letter."""
    if not moves:
        return None
    rows = []
    # Where all of them swap first, or none, nobody has to be told of each.
    tells_swaps = len({move.candidate.prep_action is None for move in moves}) > 1
    tells_by = any(_proposed_by(move.candidate) == "model" for move in moves)
    for move in moves:
        candidate = move.candidate
        swaps = "no" if candidate.prep_action is None else "yes"
        cells = (
            range_prices(context, candidate),
            percent(None if candidate.survival is None else candidate.survival.day),
            usd(candidate.fee_yield_24h),
            usd(candidate.lvr_24h),
            usd(candidate.net_7d),
            usd(candidate.cost_usd),
            *((swaps,) if tells_swaps else ()),
            *((_proposed_by(candidate),) if tells_by else ()),
        )
        rows.append(_row(_name(context, candidate, [each.candidate for each in moves]), cells))
    columns = (
        *("range", "stays 24 h", "fees a day", "LVR a day", "net next 7 d", "cost"),
        *(("swaps",) if tells_swaps else ()),
        *(("by",) if tells_by else ()),
    )
    return SpokenTable(columns=columns, rows=tuple(rows))


def _proposed_by(candidate: Candidate) -> str:
    return "model" if candidate.shape is not None and candidate.shape.by_model else "rules"


def checks_table(debate: Debate, judged: JudgedRound) -> SpokenTable | None:
    """HOLD, every move, EXIT: what each rule found, and what a week is expected to net."""
    if not judged.moves:
        return None
    found = {finding.rule for move in judged.moves for finding in move.judgment.findings}
    rules = [rule for rule in _CHECKS if rule in found]
    rows = [_standing_row("HOLD", rules, debate.hold, None)]
    among = [move.candidate for move in judged.moves]
    rows += [
        _checked_row(debate, move, rules, _name(debate.context, move.candidate, among))
        for move in judged.moves
    ]
    if debate.exit is not None:
        over = gain_over(debate.exit.net_7d, debate.hold.net_7d)
        rows.append(_standing_row("EXIT", rules, debate.exit, over))
    columns = ("judged", *(_CHECKS[rule] for rule in rules), "net next 7 d", "over HOLD")
    return SpokenTable(columns=columns, rows=tuple(rows))


def _standing_row(
    name: str, rules: Sequence[Rule], standing: Candidate, over: float | None
) -> SpokenRow:
    """Nobody judges it; how long it lasts is known of it too."""
    lasts = standing.buffer_hours
    checks = (
        SpokenCell(text=hours_cell(lasts.at_1x))
        if rule is Rule.BUFFER_FLOOR and lasts is not None
        else _NOTHING
        for rule in rules
    )
    more = _NOTHING if over is None else SpokenCell(text=_signed(over))
    return SpokenRow(
        name=name, cells=(_NOTHING, *checks, SpokenCell(text=usd(standing.net_7d)), more)
    )


def _checked_row(
    debate: Debate, move: JudgedCandidate, rules: Sequence[Rule], name: str
) -> SpokenRow:
    candidate, findings = move.candidate, move.judgment.findings
    told = advised_move(debate.context, move.evaluated)
    return SpokenRow(
        name=name,
        cells=(
            SpokenCell(
                text=(words := advice_words.judged_words(move.judgment, candidate)),
                passed=words == advice_words.ALLOWED,
            ),
            *(
                _check(rule, [each for each in findings if each.rule is rule], candidate)
                for rule in rules
            ),
            SpokenCell(text=usd(candidate.net_7d)),
            SpokenCell(
                text=_signed(gain_over(candidate.net_7d, debate.hold.net_7d)), passed=told.permits
            ),
        ),
    )


def _check(rule: Rule, findings: Sequence[RuleFinding], candidate: Candidate) -> SpokenCell:
    if not findings:
        return _NOTHING
    worst = max(findings, key=lambda found: found.verdict is not JudgmentVerdict.ACCEPT)
    return SpokenCell(
        text=_figure(rule, worst, candidate), passed=worst.verdict is JudgmentVerdict.ACCEPT
    )


def _figure(rule: Rule, found: RuleFinding, candidate: Candidate) -> str:
    value = found.value
    if rule is Rule.GOAL:
        return "too late" if value is None else f"sells {percent(value)}"
    if rule is Rule.BREAK_EVEN and not candidate.breaks_even:
        return "never"
    if value is None:
        hopeless = rule is Rule.GAS_YIELD and found.verdict is JudgmentVerdict.VETO
        return "no fees" if hopeless else UNKNOWN
    if rule is Rule.GAS_YIELD:
        return f"{value:.2f} ×" if value >= _HUNDREDTH else f"<{_HUNDREDTH:g} ×"
    if rule is Rule.OWN_SWAP:
        return f"{100 * value:.2f}%" if value > _HARDLY else f"<{100 * _HARDLY:g}%"
    # A column has one unit, however long the longest lasts.
    return usd(value) if rule is Rule.REPLAY else hours_cell(value)


def _signed(value: float | None) -> str:
    return f"+{usd(value)}" if value is not None and value > 0 else usd(value)


def _name(context: ScoutContext, candidate: Candidate, among: Sequence[Candidate]) -> str:
    if isinstance(context, MarketContext) and not context.into:
        return advice_words.move_name(candidate, among)
    # By the Scout's number too: pools of two pairs may have one fee.
    index = [each.pool.pool_id for each in context.pools].index(candidate.pool_id)
    pool = _pool_words(context.pools[index])
    return f"{option_letter(candidate.index or 0)} pool {index} · {pool}"


def _pool_words(observed: ObservedPool) -> str:
    """`0.1%*`: its fee, a mark where that changes, and what else tells it from its neighbours."""
    pool = observed.pool
    mark = "*" if pool.fee == DYNAMIC_FEE else " hook" if int(pool.hooks, 16) else ""
    coin = " native" if NATIVE in (pool.currency0, pool.currency1) else ""
    return f"{percent(pool.lp_fee / PIPS)}{mark}{coin}"


def _row(name: str, cells: Sequence[str]) -> SpokenRow:
    return SpokenRow(name=name, cells=tuple(SpokenCell(text=cell) for cell in cells))


def broken_rules(move: JudgedCandidate) -> Iterator[str]:
    """The names of the rules that keep a move from being accepted."""
    for finding in move.judgment.findings:
        if finding.verdict is not JudgmentVerdict.ACCEPT:
            yield _RULE_NAMES[finding.rule]


def failing_words(judged: JudgedRound) -> Iterator[str]:
    """Which moves a rule keeps from passing: `A and B fail on gas`."""
    for rule, name in _RULE_NAMES.items():
        failing = [
            option_letter(index)
            for index, move in enumerate(judged.moves)
            if any(
                each.rule is rule and each.verdict is not JudgmentVerdict.ACCEPT
                for each in move.judgment.findings
            )
        ]
        if failing:
            yield f"{list_words(failing)} {'fails' if len(failing) == 1 else 'fail'} on {name}"


def standing_statement(debate: Debate) -> Statement:
    """Where Keep and Close stand, by the numbers of the rule."""
    context, hold, leave = debate.context, debate.hold, debate.exit
    if not isinstance(context, MarketContext) or leave is None:
        return Statement(
            "Keep means the tokens stay in your wallet: no cost, no fees. We advise a new position "
            f"where fees cover over {100 * ENTER_OVER:.0f}% of arbitrage losses and the gain after "
            "cost is clearly more than the cost."
        )
    told, edge = list(_hold_words(context, hold)), context.observed.market.edge_7d
    if leave.cost_usd is not None:
        closing = claim(CLOSE, Relation.COSTS, leave.cost_usd)
        told.append(Statement(f"{CLOSE} costs {usd(leave.cost_usd)}", (closing,)))
    advice = standing_advice(context, evaluation_of(context))
    if advice.reasons[0] is AdviceReason.DANGER:
        told.append(Statement("A hook can lock your tokens: close at any price"))
    elif advice.reasons[0] is AdviceReason.ACTED_RECENTLY:
        since = hours(hours_since_action(context))
        told.append(Statement(f"It was moved {since} ago; zuno waits {HOURS_BETWEEN_ACTIONS:g} h"))
    else:
        told.append(coverage_statement(KEEP, edge))
    words = ". ".join(f"{each.words[:1].upper()}{each.words[1:]}" for each in told)
    return Statement(f"{words}.", tuple(made for each in told for made in each.claims))


def stance_statement(
    number: int, context: ScoutContext, judged: JudgedRound, own: Candidate | None
) -> Statement:
    """What the rules would make of a proposal: the one they would take, or why none."""
    choice = outcome_by_rules(context, judged, own).choice
    lead = "The rules" if number == 1 else f"In round {number} the rules"
    reason = choice.reasons[0].rstrip(".")
    if choice.kind == "move":
        picked = option_letter(choice.index or 0)
        return Statement(f"{lead} pick {picked}: {reason}.", choice.claims)
    return Statement(f"{lead} would {_DONE[choice.kind]}: {reason}.", choice.claims)


_DONE = {"hold": "keep it", "exit": "close it"}


def closing_statement(context: ScoutContext, plan: Plan, judged: JudgedRound) -> Statement:
    """What the plan is and why, and who wanted otherwise."""
    choice = plan.choice
    named = KEEP if choice.kind == "hold" else CLOSE
    name = named if choice.index is None else option_letter(choice.index)
    reason = choice.reasons[0].rstrip(".")
    if choice.codes[0] is AdviceReason.DANGER:
        reason = f"its hook is dangerous, {reason[:1].lower()}{reason[1:]}"
    alike = alike_words(context, choice.index, judged)
    passed_over = tuple(less_roomy(plan))
    parts = [f"The plan is {name}: {reason}", *filter(None, [alike])]
    parts += [each.words.rstrip(".") for each in passed_over]
    parts += [dissent_words(each) for each in plan.dissent]
    claims = [
        claim(name, Relation.IS_PLAN),
        *(made for each in passed_over for made in each.claims),
    ]
    return Statement(f"{'; '.join(parts)}.", (*choice.claims, *claims))


def less_roomy(plan: Plan) -> Iterator[Statement]:
    """What meets every limit and nets more, where the profile takes what lasts longer first."""
    rules, chosen = PROFILES[plan.profile], plan.recommended
    roomy = rules.liked_room * rules.buffer_floor_hours
    is_roomy = chosen.buffer_hours is not None and chosen.buffer_hours.at_1x >= roomy
    if plan.choice.kind != "move" or not is_roomy:
        return
    name = option_letter(chosen.index or 0)
    for move in plan.candidates:
        more = gain_over(move.net_7d, chosen.net_7d)
        allowed = move.judgment is not None and move.judgment.verdict is JudgmentVerdict.ACCEPT
        lasts = None if move.buffer_hours is None else move.buffer_hours.at_1x
        if not allowed or more is None or more <= 0 or lasts is None or lasts >= roomy:
            continue
        other = option_letter(move.index or 0)
        yield Statement(
            f"{other} should net {usd(more)} more, but lasts {hours_cell(lasts)}: "
            f"{plan.profile.value} takes what lasts {hours_cell(roomy)} first.",
            (
                claim(other, Relation.MEETS_LIMITS),
                claim(other, Relation.NETS_MORE, more, than=name),
                claim(other, Relation.LASTS, lasts),
            ),
        )


def alike_words(context: ScoutContext, index: int | None, judged: JudgedRound) -> str:
    """That the profile's axis chose between moves whose nets are alike, where it did."""
    chosen = chosen_move(context, judged)
    if chosen is None or index is None or chosen.candidate.index != index:
        return ""
    net = chosen.candidate.net_7d
    letters = [
        option_letter(move.candidate.index or 0)
        for move in judged.moves
        if move is not chosen
        and move.judgment.verdict is JudgmentVerdict.ACCEPT
        and is_permitted(context, move)
        and (net is None or abs((move.candidate.net_7d or 0.0) - net) <= NET_TIE_USD)
    ]
    if not letters:
        return ""
    axis = AXES[PROFILES[context.profile].tiebreak]
    return f"{list_words(letters)} should net within ${NET_TIE_USD:g} of it, and it {axis}"


def settled_sentence(context: ScoutContext, codes: tuple[AdviceReason, ...], *, asked: bool) -> str:
    """Why nobody argues: the rule has decided already."""
    unasked = ", and no model is asked" if asked else ""
    why = advice_words.SETTLED.get(codes[0], advice_words.short_reason(codes[0]))
    if codes[0] is AdviceReason.NO_CANDIDATE:
        why = "there is nothing to move"
    if not isinstance(context, MarketContext):
        why = "no pool here is both safe and paid enough to enter"
    return f"The rule decides without a debate{unasked}: {why}."


def _hold_words(context: MarketContext, hold: Candidate) -> Iterator[Statement]:
    if not context.position.liquidity:
        yield Statement("Keep is an empty position: no fees")
        return
    if evaluation_of(context).in_range and hold.buffer_hours is not None:
        lasts = hold.buffer_hours.at_1x
        yield Statement(
            f"Keep is in range and lasts {hours(lasts)} at 95% confidence",
            (claim(KEEP, Relation.IN_RANGE), claim(KEEP, Relation.LASTS, lasts)),
        )
    else:
        yield Statement("Keep is out of range", (claim(KEEP, Relation.OUT_OF_RANGE),))
    if hold.net_7d is None:
        yield Statement("what it nets in 7 days is unknown")
        return
    yield net_words(KEEP, hold, hold)
