"""What agents say and show: pools, proposals, checks as tables, and where HOLD and EXIT stand."""

from collections.abc import Iterator, Sequence
from math import exp

from agents.bus.envelope import SpokenCell, SpokenRow, SpokenTable
from agents.lp import advice_words
from agents.lp.advising import (
    MoveAdvice,
    advised_move,
    hours_since_action,
    settled,
    standing_advice,
)
from agents.lp.conclude import (
    chosen_move,
    is_permitted,
    not_closed,
    observed_pool,
    outcome_by_rules,
)
from agents.lp.evaluation import Evaluated
from agents.lp.evaluation_context import evaluation_of
from agents.lp.facts import CreateContext, MarketContext, ObservedPool, ScoutContext
from agents.lp.judge import JudgedCandidate, JudgedRound
from agents.lp.payloads import Debate
from agents.lp.plan import Candidate, Plan, RuleFinding
from agents.numbers.advice import ENTER_OVER, HOURS_BETWEEN_ACTIONS, LEAVE_UNDER, AdviceReason
from agents.numbers.edges import TICK_LOG, price_tick
from agents.numbers.outlook import HOURS_PER_WEEK
from agents.numbers.rounding import gained
from agents.numbers.rules import PROFILES, JudgmentVerdict, Rule, Tiebreak
from chain.base.units import GWEI, PIPS, UNKNOWN, hours, hours_cell, listed, percent, usd
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


def pools_table(context: CreateContext) -> SpokenTable:
    """The pools that can take the capital."""
    rows = []
    for index, observed in enumerate(context.surveyed_pools):
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
    rules = PROFILES[context.profile]
    lasting = rules.tiebreak is Tiebreak.BUFFER_AND_YIELD
    for move in moves:
        candidate = move.candidate
        swaps = "no" if candidate.prep_action is None else "yes"
        cells = (
            range_prices(context, candidate),
            percent(None if candidate.survival is None else candidate.survival.day),
            usd(candidate.fee_yield_24h),
            usd(candidate.lvr_24h),
            *((advice_words.tiebreak_words(rules, candidate),) if lasting else ()),
            usd(candidate.cost_usd),
            *((swaps,) if tells_swaps else ()),
        )
        rows.append(_row(_name(context, candidate, [each.candidate for each in moves]), cells))
    columns = (
        *("range", "stays 24 h", "fees a day", "LVR a day"),
        *((advice_words.SURE_FEES,) if lasting else ()),
        "cost",
        *(("swaps",) if tells_swaps else ()),
    )
    return SpokenTable(columns=columns, rows=tuple(rows))


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
        over = gained(debate.exit.net_7d, debate.hold.net_7d)
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
                text=_signed(gained(candidate.net_7d, debate.hold.net_7d)), passed=told.permits
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
    if rule is Rule.BREAK_EVEN and advice_words.never_pays(candidate):
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
    if isinstance(context, MarketContext):
        return advice_words.move_name(candidate, among)
    # By the Scout's number too: pools of two pairs may have one fee.
    index = [each.pool.pool_id for each in context.surveyed_pools].index(candidate.pool_id)
    pool = _pool_words(context.surveyed_pools[index])
    return f"{advice_words.option_letter(candidate.index or 0)} pool {index} · {pool}"


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
            advice_words.option_letter(index)
            for index, move in enumerate(judged.moves)
            if any(
                each.rule is rule and each.verdict is not JudgmentVerdict.ACCEPT
                for each in move.judgment.findings
            )
        ]
        if failing:
            yield f"{listed(failing)} {'fails' if len(failing) == 1 else 'fail'} on {name}"


def standing_sentence(debate: Debate) -> str:
    """Where HOLD and EXIT stand, by the numbers of the rule."""
    context, hold, leave = debate.context, debate.hold, debate.exit
    if not isinstance(context, MarketContext) or leave is None:
        return (
            "HOLD means the tokens stay in your wallet: no cost, no fees. A position is opened "
            f"where the pool pays over {ENTER_OVER:g} × its risk and the gain after cost is more "
            "than the cost."
        )
    stands = f"{_hold_words(context, hold)}; EXIT costs {usd(leave.cost_usd)}."
    return " ".join((stands, _line_words(context), *(f"{words}." for words in not_closed(context))))


def stance_sentence(
    number: int, context: ScoutContext, moves: tuple[Evaluated, ...], judged: JudgedRound
) -> str:
    """What the rules would make of a proposal: the one they would take, or why none."""
    choice = outcome_by_rules(context, judged).choice
    if choice.kind != "move" or choice.index is None:
        other = choice.kind.upper()
        if number > 1:
            return f"In round {number}, too, the rules take none of these over {other}."
        reason = advice_words.SHORT_REASONS[choice.codes[0]]
        return f"The rules take none of these over {other}: {reason}."
    move = moves[choice.index]
    told = advised_move(context, move)
    letter = advice_words.option_letter(choice.index)
    picked = f"The rules pick {letter}"
    if number > 1:
        picked = f"In round {number} the rules pick {letter}"
    gain = f"{usd(told.gain)} more than HOLD in {_span(told)}"
    if not _also_passing(context, choice.index, judged):
        return f"{picked}: {gain}, after its cost of {usd(told.cost)}."
    rules = PROFILES[context.profile]
    figure = advice_words.tiebreak_words(rules, move.candidate)
    weighed = advice_words.WEIGHED_BY[rules.tiebreak]
    return f"{picked}, for its {weighed}, {figure}; it nets {gain}."


def _span(move: MoveAdvice) -> str:
    """The hours a gain is counted for, which are not the card's week where a range lives less."""
    lasts = hours(move.hours)
    return lasts if move.hours >= HOURS_PER_WEEK else f"the {lasts} its range should last"


def closing_sentence(context: ScoutContext, plan: Plan, judged: JudgedRound) -> str:
    """What the plan is, and the rule that made it so, where others spoke for something else."""
    choice = plan.choice
    reason = choice.reasons[0].removeprefix("HOLD wins: ")
    if choice.kind == "move":
        # What the pool pays was said in the same breath, of HOLD.
        chosen = next(move for move in judged.moves if move.candidate.index == choice.index)
        reason = advice_words.gain_words(advised_move(context, chosen.evaluated))
    if choice.codes[0] is AdviceReason.DANGER:
        reason = f"its hook is dangerous, {reason[:1].lower()}{reason[1:]}"
    moves = choice.kind == "move" and choice.index is not None
    named = advice_words.option_letter(choice.index or 0) if moves else choice.kind.upper()
    what = f"{named}{_tiebreak_words(context, plan, judged)}"
    accepted = [
        advice_words.option_letter(index)
        for index, move in enumerate(judged.moves)
        if move.judgment.verdict is JudgmentVerdict.ACCEPT
    ]
    though = ""
    if choice.kind != "move" and accepted and settled(context) is None:
        passes = "passes" if len(accepted) == 1 else "pass"
        though = f", though {listed(accepted)} {passes} every limit"
    return f"The plan is {what}{though}: {reason.rstrip('.')}."


def _tiebreak_words(context: ScoutContext, plan: Plan, judged: JudgedRound) -> str:
    """Why this of several moves that may be made, where the profile's own axis chose it."""
    chosen = chosen_move(context, judged)
    others = _also_passing(context, plan.choice.index, judged)
    if chosen is None or not others:
        return ""
    letters = listed([advice_words.option_letter(other.index or 0) for other in others])
    rules = PROFILES[context.profile]
    figures = advice_words.weighed_words(rules, chosen.evaluated.candidate, *others)
    return f", which beats {letters} on {advice_words.WEIGHED_BY[rules.tiebreak]} ({figures})"


def _also_passing(context: ScoutContext, index: int | None, judged: JudgedRound) -> list[Candidate]:
    """The other moves that may be made, where this is the one that the rules chose."""
    chosen = chosen_move(context, judged)
    if chosen is None or chosen.evaluated.candidate.index != index:
        return []
    return [
        move.candidate
        for move in judged.moves
        if move is not chosen
        and move.judgment.verdict is JudgmentVerdict.ACCEPT
        and is_permitted(context, move)
    ]


def settled_sentence(context: ScoutContext, codes: tuple[AdviceReason, ...], *, asked: bool) -> str:
    """Why nobody argues: the rule has decided already."""
    unasked = ", and no model is asked" if asked else ""
    why = advice_words.SHORT_REASONS[codes[0]]
    if codes[0] is AdviceReason.NO_CANDIDATE:
        why = "there is nothing to move"
    if not isinstance(context, MarketContext):
        why = "no pool here is both safe and paid enough to enter"
    return f"The rule decides without a debate{unasked}: {why}."


def _hold_words(context: MarketContext, hold: Candidate) -> str:
    if hold.net_7d is None:
        net = "nets an unknown amount"
    else:
        does = "lose" if hold.net_7d < 0 else "net"
        net = f"is expected to {does} {usd(abs(hold.net_7d))} in the next 7 days"
    if not context.position.liquidity:
        return "HOLD is an empty position: no fees"
    if evaluation_of(context).in_range:
        buffer = hours(None if hold.buffer_hours is None else hold.buffer_hours.at_1x)
        return f"HOLD is in range with a buffer of {buffer} and {net}"
    return f"HOLD is out of range; allowing for the price coming back, it {net}"


def _line_words(context: MarketContext) -> str:
    """The line of the rule that the position stands at."""
    evaluation = evaluation_of(context)
    advice = standing_advice(context, evaluation)
    match advice.reasons[0]:
        case AdviceReason.DANGER:
            return "A hook that can lock your tokens: close at any price."
        case AdviceReason.ACTED_RECENTLY:
            since = hours(hours_since_action(context))
            return f"It was made or moved {since} ago; {HOURS_BETWEEN_ACTIONS:g} h must pass."
    pays = f"The pool {advice_words.edge_words(advice.edge_7d)}"
    if advice.edge_7d is None:
        pays = "What the pool pays over its risk is unknown"
    if evaluation.in_range:
        return f"{pays}; it is closed only below {LEAVE_UNDER:g} ×."
    return f"{pays}; a move needs more than {ENTER_OVER:g} ×."
