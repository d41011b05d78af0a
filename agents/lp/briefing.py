"""What a model is told: facts with an id behind every number, tokens by alias, no chain text."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from msgspec import Struct, field

from agents.lp.evaluation_context import evaluation_of
from agents.lp.facts import CreateContext
from agents.model.claims import ClaimLedger, without_ids
from agents.model.interface import ModelPrompt
from agents.model.numerals import Unit
from agents.numbers.profiles import PROFILES, Tiebreak
from agents.numbers.regime import daily_sigma
from agents.numbers.rules import Rule
from agents.numbers.shapes import (
    MAX_CENTER_OFFSET_TICKS,
    MAX_WIDTH_MULTIPLIER,
    MIN_WIDTH_MULTIPLIER,
)
from chain.base.units import GWEI

if TYPE_CHECKING:
    from agents.bus.envelope import Role
    from agents.lp.facts import MarketContext, ObservedPool
    from agents.lp.payloads import Debate, DebateRound, Objection
    from agents.lp.plan import Candidate, RuleFinding

    Context = MarketContext | CreateContext

STRUCK = "[struck]"
_AXES = {
    Tiebreak.STRESSED_BUFFER: "the largest buffer at twice the volatility",
    Tiebreak.BUFFER_AND_YIELD: "the largest buffer times fees, a buffer beyond twice the floor "
    "counting no more",
    Tiebreak.YIELD: "the highest fees",
}
_UNITS = {
    Rule.BUFFER_FLOOR: Unit.HOURS,
    Rule.GAS_YIELD: Unit.MULTIPLIER,
    Rule.BREAK_EVEN: Unit.HOURS,
}


class Brief(Struct):
    """A prompt while it is written; the ledger remembers each number it was given."""

    role: Role
    ledger: ClaimLedger = field(default_factory=ClaimLedger)
    lines: list[str] = field(default_factory=list)

    @property
    def prompt(self) -> ModelPrompt:
        return ModelPrompt(system=_system(self.role), user="\n".join(self.lines))

    def say(self, line: str) -> None:
        self.lines.append(line)

    def number(self, value: float | None, unit: Unit) -> str:
        return "unknown" if value is None else self.ledger.cite(value, unit)

    def plain(self, prose: str) -> str:
        """A model's words as others may quote them: without ids, without numbers nobody gave."""
        text, flags = without_ids(prose, self.ledger.check(prose).flags)
        for flag in sorted(flags, key=lambda flag: flag.start, reverse=True):
            text = f"{text[: flag.start]}{STRUCK}{text[flag.end :]}"
        return text

    def market(self, context: Context) -> None:
        """The facts everybody may argue from."""
        rules = PROFILES[context.profile]
        self.say(
            f"Risk profile {context.profile.value}: buffer floor "
            f"{self.number(rules.buffer_floor_hours, Unit.HOURS)}, gas over a day's fees at most "
            f"{self.number(rules.gas_yield_ceiling, Unit.MULTIPLIER)}, break-even within "
            f"{self.number(rules.break_even_life_share, Unit.MULTIPLIER)} of the median life; "
            f"the axis between candidates is {_AXES[rules.tiebreak]}."
        )
        self.say(f"Gas {self.number(context.gas.wei_per_gas / GWEI, Unit.GWEI)}.")
        if isinstance(context, CreateContext):
            self.say(f"The person wants exposure {context.goal.exposure.value}.")
            for index, observed in enumerate(context.surveyed_pools):
                evaluation = evaluation_of(context, index)
                own = "TOKEN0" if evaluation.capital_is_currency0 else "TOKEN1"
                self.say(f"Pool {index}, where the person's own token is {own}:")
                self._pool(observed)
                self._base(evaluation.base_half_width)
            return
        self._pool(context.observed)
        self._base(evaluation_of(context).base_half_width)

    def bounds(self) -> None:
        self.say(
            f"A shape's widthMultiplier is {self.number(MIN_WIDTH_MULTIPLIER, Unit.MULTIPLIER)} to "
            f"{self.number(MAX_WIDTH_MULTIPLIER, Unit.MULTIPLIER)}, its centerOffsetTicks "
            f"{self.number(-MAX_CENTER_OFFSET_TICKS, Unit.TICKS)} to "
            f"{self.number(MAX_CENTER_OFFSET_TICKS, Unit.TICKS)}."
        )

    def candidate(self, name: str, candidate: Candidate) -> None:
        if candidate.buffer_hours is None or candidate.survival is None:
            self.say(
                f"{name}: in the wallet, cost {self.number(candidate.cost_usd, Unit.USD)}, "
                "no fees, no LVR."
            )
            return
        shape = candidate.shape
        form = (
            ""
            if shape is None
            else (
                f" pool {shape.pool_index}, width "
                f"{self.number(shape.width_multiplier, Unit.MULTIPLIER)}, centre off by "
                f"{self.number(shape.center_offset_ticks, Unit.TICKS)};"
            )
        )
        swap = "no swap" if candidate.prep_action is None else "needs a swap"
        self.say(
            f"{name} ({candidate.kind}):{form} buffer at once the volatility "
            f"{self.number(candidate.buffer_hours.at_1x, Unit.HOURS)}, at twice "
            f"{self.number(candidate.buffer_hours.at_2x, Unit.HOURS)}, at three times "
            f"{self.number(candidate.buffer_hours.at_3x, Unit.HOURS)}; stays a day with "
            f"{self.number(candidate.survival.day, Unit.FRACTION)}, a week with "
            f"{self.number(candidate.survival.week, Unit.FRACTION)}; fees a day "
            f"{self.number(candidate.fee_yield_24h, Unit.USD)}, LVR a day "
            f"{self.number(candidate.lvr_24h, Unit.USD)}, cost "
            f"{self.number(candidate.cost_usd, Unit.USD)}, {swap}, break-even "
            f"{self.number(candidate.break_even_hours, Unit.HOURS)}."
        )
        judgment = candidate.judgment
        if judgment is not None:
            harder = "" if judgment.verdict is judgment.by_rules else ", harder than the rules"
            self.say(f"  judged {judgment.verdict.value}{harder}")

    def table(self, debate: Debate) -> None:
        self.candidate("HOLD", debate.hold)
        if debate.exit is not None:
            self.candidate("EXIT", debate.exit)
        for one in debate.rounds:
            self.round(one)

    def round(self, one: DebateRound) -> None:
        decided = "not judged yet" if one.decision is None else f"decided {one.decision.value}"
        self.say(f"Round {one.number}, proposed by the {one.proposed_by}, {decided}:")
        for index, candidate in enumerate(one.candidates):
            self.candidate(f"Candidate {index}", candidate)
        for objection in one.objections:
            self._objection(objection, one)

    def _pool(self, observed: ObservedPool) -> None:
        market, pool = observed.market, observed.pool
        self.say(
            f"TOKEN0 is {_kind(observed.token0.kind)}, TOKEN1 is {_kind(observed.token1.kind)}; "
            f"fee {self.number(pool.lp_fee / 1_000_000, Unit.FRACTION)}; "
            f"hook danger {pool.hook_danger}."
        )
        self.say(
            f"Regime {observed.regime.value}. Volatility a day "
            f"{self.number(market.sigma, Unit.FRACTION)}"
            f"{' (assumed)' if market.sigma_assumed else ''}, over the last day "
            f"{self.number(market.sigma_24h, Unit.FRACTION)}, over the week "
            f"{self.number(market.sigma_7d, Unit.FRACTION)}; fees pay for "
            f"{self.number(market.implied_sigma_24h, Unit.FRACTION)}; path efficiency "
            f"{self.number(market.path_efficiency, Unit.FRACTION)}; pool fees of the last day "
            f"{self.number(market.fees_24h_usd, Unit.USD)}."
        )

    def _base(self, half_width: float) -> None:
        self.say(
            f"Base half-width {self.number(round(half_width), Unit.TICKS)}, about "
            f"{self.number(daily_sigma(half_width), Unit.FRACTION)} of the price."
        )

    def _objection(self, objection: Objection, one: DebateRound) -> None:
        """A point by its rule and numbers: the words of another model are no prompt's business."""
        found = [
            finding
            for candidate in one.candidates
            if candidate.index == objection.candidate and candidate.judgment is not None
            for finding in candidate.judgment.findings
            if finding.words == objection.words
        ]
        about = self._finding(found[0]) if found else "the Critic's own judgment"
        needed = (
            ""
            if objection.needed_multiplier is None
            else f"; a width of {self.number(objection.needed_multiplier, Unit.MULTIPLIER)}"
            " would meet the floor"
        )
        self.say(f"  Point {objection.point}, candidate {objection.candidate}: {about}{needed}.")

    def _finding(self, finding: RuleFinding) -> str:
        rule = finding.rule.value.replace("-", " ")
        if finding.limit is None:
            return rule
        unit = _UNITS[finding.rule]
        value = "unknown or never" if finding.value is None else self.number(finding.value, unit)
        return f"{rule}, {value} against {self.number(finding.limit, unit)}"


def _kind(kind: str) -> str:
    return {"dollar": "a dollar token", "ether": "ether", "bitcoin": "bitcoin"}.get(
        kind, "another token"
    )


@cache
def _system(role: Role) -> str:
    return files("agents.lp.prompts").joinpath(f"{role.value}.txt").read_text("utf-8")
