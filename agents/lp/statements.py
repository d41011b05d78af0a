"""What sentences claim of the options on the table, and whether it is so.

Code's sentences carry their claims as data. Only a model's prose is read for them: a comparison
that the table does not bear out is struck like a number that nobody gave.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import Struct

from agents.model.claims import ClaimFlag, FlagKind
from agents.numbers.rounding import gain_over
from agents.numbers.rules import JudgmentVerdict

if TYPE_CHECKING:
    from agents.bus.envelope import Claim
    from agents.lp.plan import Candidate, Plan

KEEP, CLOSE = "Keep", "Close"
_CENT, _DIGITS = 0.0051, 5e-3


class Relation(StrEnum):
    NETS = "nets"
    NETS_MORE = "nets more"
    NETS_MOST = "nets most"
    BETWEEN = "nets between"
    COSTS = "costs"
    COSTS_MORE = "costs more"
    COSTS_MOST = "costs most"
    COSTS_LESS = "costs less"
    COSTS_LEAST = "costs least"
    LASTS = "lasts"
    LASTS_MORE = "lasts longer"
    LASTS_MOST = "lasts longest"
    WIDER = "wider"
    WIDEST = "widest"
    NARROWER = "narrower"
    NARROWEST = "narrowest"
    PAYS_BACK = "pays back"
    NEVER = "never pays back"
    EARNS_NOTHING = "earns nothing"
    IN_RANGE = "in range"
    OUT_OF_RANGE = "out of range"
    MEETS_LIMITS = "meets every limit"
    BREAKS = "breaks a limit"
    PAID = "pool paid over its risk"
    IS_PLAN = "is the plan"


class Statement(NamedTuple):
    words: str
    claims: tuple[Claim, ...] = ()


def claim(
    subject: str,
    relation: Relation,
    *figures: float,
    than: str | None = None,
    rule: str | None = None,
) -> Claim:
    from agents.bus.envelope import Claim  # pydantic, which no read pays for

    return Claim(subject=subject, relation=relation.value, figures=figures, than=than, detail=rule)


class OptionTable(Struct, frozen=True):
    """Everything that can be done, by the name people type, as card and debate show it."""

    options: Mapping[str, Candidate]
    inside: Mapping[str, bool]
    """Whether the price is in its range; not of what has none."""
    edges: Mapping[str, float | None]
    plan: str | None = None


def table_of(plan: Plan) -> OptionTable:
    ticks = {pool.pool_id: pool.tick for pool in plan.pools}
    edges = {pool.pool_id: pool.edge_7d for pool in plan.pools}
    named = option_names(plan.hold, plan.candidates, plan.exit)
    chosen = next((name for name, option in named.items() if option == plan.recommended), None)
    return option_table(named, ticks, edges, chosen)


def option_table(
    named: Mapping[str, Candidate],
    ticks: Mapping[str, int],
    edges: Mapping[str, float | None],
    plan: str | None = None,
) -> OptionTable:
    return OptionTable(
        options=named,
        inside={
            name: option.tick_lower <= ticks[option.pool_id] < option.tick_upper
            for name, option in named.items()
            if option.tick_lower is not None and option.tick_upper is not None
        },
        edges={name: edges.get(option.pool_id) for name, option in named.items()},
        plan=plan,
    )


def option_names(
    hold: Candidate, moves: Sequence[Candidate], leave: Candidate | None
) -> dict[str, Candidate]:
    letters = {chr(ord("A") + index): move for index, move in enumerate(moves)}
    return {KEEP: hold, **letters, **({} if leave is None else {CLOSE: leave})}


def is_same_range(one: Candidate, other: Candidate) -> bool:
    return (one.pool_id, one.tick_lower, one.tick_upper) == (
        *(other.pool_id, other.tick_lower, other.tick_upper),
    )


def contradictions(claims: Iterable[Claim], table: OptionTable) -> list[Claim]:
    """The claims that the table does not bear out."""
    return [each for each in claims if not _holds(each, table)]


def _holds(made: Claim, table: OptionTable) -> bool:
    option = table.options.get(made.subject)
    if option is None or (made.than is not None and made.than not in table.options):
        return False
    relation = Relation(made.relation)
    if relation in _COMPARED:
        return _compares(option, made, table)
    return _PLAIN[relation](option, made, table)


def _is_judged(option: Candidate, made: Claim, *, accepted: bool) -> bool:
    judgment = option.judgment
    if judgment is None:
        return False
    broken = {
        found.rule.value
        for found in judgment.findings
        if found.verdict is not JudgmentVerdict.ACCEPT
    }
    if accepted:
        return judgment.by_rules is JudgmentVerdict.ACCEPT
    return made.detail in broken if made.detail else bool(broken)


def _is_about(value: float | None, figures: Sequence[float | None]) -> bool:
    told = figures[0] if figures else None
    return value is not None and told is not None and abs(value - told) <= _DIGITS * abs(value)


_PLAIN: dict[Relation, Callable[[Candidate, Claim, OptionTable], bool]] = {
    Relation.IN_RANGE: lambda _, made, table: table.inside.get(made.subject) is True,
    Relation.OUT_OF_RANGE: lambda _, made, table: table.inside.get(made.subject) is False,
    Relation.PAID: lambda _, made, table: _is_about(table.edges[made.subject], made.figures),
    Relation.IS_PLAN: lambda _, made, table: table.plan in (None, made.subject),
    Relation.MEETS_LIMITS: lambda option, made, _: _is_judged(option, made, accepted=True),
    Relation.BREAKS: lambda option, made, _: _is_judged(option, made, accepted=False),
    Relation.NEVER: lambda option, _, __: not option.breaks_even,
    Relation.EARNS_NOTHING: lambda option, _, __: option.fee_yield_24h == 0,
    Relation.PAYS_BACK: lambda option, made, _: (
        option.breaks_even and _is_about(option.break_even_hours, made.figures)
    ),
    Relation.BETWEEN: lambda option, made, _: (
        _is_about(option.net_low_7d, made.figures[:1])
        and _is_about(option.net_high_7d, made.figures[1:])
    ),
}


def _width(option: Candidate) -> float | None:
    if option.tick_lower is None or option.tick_upper is None:
        return None
    return option.tick_upper - option.tick_lower


def _buffer(option: Candidate) -> float | None:
    return None if option.buffer_hours is None else option.buffer_hours.at_1x


_Figure: TypeAlias = "Callable[[Candidate], float | None]"
_COMPARED: dict[Relation, tuple[_Figure, int, bool | None]] = {
    Relation.NETS: (lambda option: option.net_7d, 1, None),
    Relation.NETS_MORE: (lambda option: option.net_7d, 1, False),
    Relation.NETS_MOST: (lambda option: option.net_7d, 1, True),
    Relation.COSTS: (lambda option: option.cost_usd, 1, None),
    Relation.COSTS_MORE: (lambda option: option.cost_usd, 1, False),
    Relation.COSTS_MOST: (lambda option: option.cost_usd, 1, True),
    Relation.COSTS_LESS: (lambda option: option.cost_usd, -1, False),
    Relation.COSTS_LEAST: (lambda option: option.cost_usd, -1, True),
    Relation.LASTS: (_buffer, 1, None),
    Relation.LASTS_MORE: (_buffer, 1, False),
    Relation.LASTS_MOST: (_buffer, 1, True),
    Relation.WIDER: (_width, 1, False),
    Relation.WIDEST: (_width, 1, True),
    Relation.NARROWER: (_width, -1, False),
    Relation.NARROWEST: (_width, -1, True),
}
"""By which figure, whether more or less of it, and whether against all."""


def _compares(option: Candidate, made: Claim, table: OptionTable) -> bool:
    figure, sign, superlative = _COMPARED[Relation(made.relation)]
    own = figure(option)
    if superlative is None:
        return _is_about(own, made.figures)
    if made.figures:
        more = gain_over(own, figure(table.options[made.than or KEEP]))
        return more is not None and more > 0 and abs(more - made.figures[0]) < _CENT
    if superlative:
        # The cheapest and the widest are said of ranges that can be moved to, the rest of all.
        bare = made.relation != Relation.NETS_MOST
        others = [
            figure(other)
            for name, other in table.options.items()
            if not bare or other.index is not None or name == made.subject
        ]
    else:
        others = [figure(table.options[made.than or KEEP])]
    known = [value for value in others if value is not None]
    if own is None or not known:
        return False
    if superlative:
        return all(sign * own >= sign * value for value in known)
    return all(sign * own > sign * value for value in known)


_SAME = {"HOLD": KEEP, "Hold": KEEP, "KEEP": KEEP, "EXIT": CLOSE, "Exit": CLOSE, "CLOSE": CLOSE}
_NAMES = "|".join((KEEP, CLOSE, *_SAME, "[A-E]"))
_NAME = rf"(?:(?:option|candidate|range)s?\s+)?(?P<{{}}>{_NAMES})\b"
_ONE, _OTHER = _NAME.format("one"), _NAME.format("other")
_IS = r"\s+(?:is|would be|remains)\s+(?:also\s+|clearly\s+|by far\s+)?"
_PATTERNS: tuple[tuple[Relation, str], ...] = tuple(
    (relation, rf"\b{_ONE}{words}")
    for relation, words in (
        (
            Relation.NETS_MOST,
            r"\s+(?:nets|earns|brings|pays|makes)\s+(?:by far\s+)?the\s+(?:most|highest net)\b",
        ),
        (Relation.NETS_MOST, rf"{_IS}the\s+(?:most profitable|best by net)\b"),
        (Relation.NETS_MOST, r"\s+has\s+the\s+(?:highest|best|largest)\s+(?:expected\s+)?net\b"),
        (Relation.NETS_MORE, rf"\s+(?:nets|brings|makes)\s+more\s+than\s+{_OTHER}"),
        (Relation.COSTS_MORE, rf"\s+costs\s+more\s+than\s+{_OTHER}"),
        (Relation.COSTS_MORE, rf"{_IS}(?:dearer|more expensive)\s+than\s+{_OTHER}"),
        (Relation.COSTS_LESS, rf"\s+costs\s+less\s+than\s+{_OTHER}"),
        (Relation.COSTS_LESS, rf"{_IS}cheaper\s+than\s+{_OTHER}"),
        (Relation.COSTS_LEAST, rf"{_IS}the\s+cheapest\b"),
        (Relation.COSTS_LEAST, r"\s+costs\s+(?:the\s+)?least\b"),
        (Relation.COSTS_MOST, rf"{_IS}the\s+(?:dearest|most expensive)\b"),
        (Relation.COSTS_MOST, r"\s+costs\s+the\s+most\b"),
        (Relation.WIDER, rf"{_IS}wider\s+than\s+{_OTHER}"),
        (Relation.NARROWER, rf"{_IS}(?:narrower|tighter)\s+than\s+{_OTHER}"),
        (Relation.WIDEST, rf"(?:{_IS}|,\s+)the\s+widest\b"),
        (Relation.NARROWEST, rf"(?:{_IS}|,\s+)the\s+(?:narrowest|tightest)\b"),
        (Relation.LASTS_MORE, rf"\s+(?:lasts|stays in range)\s+longer\s+than\s+{_OTHER}"),
        (Relation.LASTS_MOST, r"\s+(?:lasts|stays in range)\s+(?:the\s+)?longest\b"),
        (Relation.EARNS_NOTHING, r"\s+(?:earns|brings|pays)\s+(?:nothing|no fees)\b"),
        (Relation.NEVER, r"\s+never\s+(?:pays|earns)\b"),
        (
            Relation.MEETS_LIMITS,
            r"\s+(?:meets|passes|keeps)\s+(?:every|all)\s+(?:the\s+)?(?:limit|floor|rule)s?\b",
        ),
        (Relation.OUT_OF_RANGE, rf"{_IS}(?:already\s+)?out\s+of\s+range\b"),
        (Relation.IN_RANGE, rf"{_IS}(?:still\s+)?in\s+range\b"),
    )
)
_READ = tuple((relation, re.compile(pattern)) for relation, pattern in _PATTERNS)
_LESS = re.compile(rf"\b{_ONE}\s+(?:nets|brings|makes)\s+less\s+than\s+{_OTHER}")
_DENIED = re.compile(r"(?:\b(?:not|never|nor|if|unless|whether)|n't)\s+(?:\w+\s+)?$", re.IGNORECASE)


class ReadClaim(NamedTuple):
    claim: Claim
    start: int
    end: int


def claims_in(prose: str) -> Iterator[ReadClaim]:
    """What words say of options by name; what is denied or only supposed is no claim."""
    for relation, pattern in _READ:
        for found in pattern.finditer(prose):
            if not _DENIED.search(prose[: found.start()]):
                subject = _SAME.get(found["one"], found["one"])
                other = found.groupdict().get("other")
                than = None if other is None else _SAME.get(other, other)
                yield ReadClaim(claim(subject, relation, than=than), found.start(), found.end())
    for found in _LESS.finditer(prose):
        less, other = (_SAME.get(found[name], found[name]) for name in ("one", "other"))
        more = claim(other, Relation.NETS_MORE, than=less)
        yield ReadClaim(more, found.start(), found.end())


def false_words(prose: str, table: OptionTable) -> tuple[ClaimFlag, ...]:
    """Where a model's words say of an option on the table what is not so."""
    found: list[ClaimFlag] = []
    for read in sorted(claims_in(prose), key=lambda read: read.start):
        named = {read.claim.subject, *filter(None, [read.claim.than])}
        overlaps = found and read.start < found[-1].end
        if named <= table.options.keys() and not overlaps and not _holds(read.claim, table):
            found.append(ClaimFlag(read.start, read.end, FlagKind.NOT_SO, ()))
    return tuple(found)
