"""What the sentences of card and debate claim is what stands in the table beside them."""

import json
import sys
from collections.abc import Iterator
from itertools import pairwise, product
from random import Random

import pytest

from agents.bus.envelope import Claim
from agents.lp.payloads import DEBATE, Debate
from agents.lp.plan import Plan
from agents.lp.statements import (
    CLOSE,
    KEEP,
    OptionTable,
    Relation,
    Statement,
    claim,
    claims_in,
    contradictions,
    false_words,
    option_names,
    option_table,
    table_of,
)
from agents.numbers.rules import RiskProfile
from chain.base.units import usd
from tests.agents.lp.debating import Argued, argue_over
from tests.agents.lp.made_up import Market
from tests.agents.lp.scripted_models import STYLES, Scripted
from zuno_tui.present.plan_card import card_statements, plan_pools, reasons

HALF_WIDTHS = (0.01, 0.02, 0.05, 0.1, 0.2)
SIGMAS = (0.01, 0.02, 0.03, 0.04, 0.05)
PLACES = (0.0, 0.97, 2.5)
PAID = (0.7, 0.93, 1.05, 1.2, 1.3, 2.0)
SITUATIONS = list(product(HALF_WIDTHS, SIGMAS, PLACES, PAID))
BRAINS = (None, *STYLES)
_FIGURED = (Relation.NETS, Relation.NETS_MORE, Relation.COSTS)


def tables(argued: Argued) -> dict[int, OptionTable]:
    """What was on the table in each round, as the last message that binds has it."""
    plan = argued.plan
    bodies = [json.loads(line) for line in argued.record.splitlines()]
    opened = [
        DEBATE.open(json.dumps(each["body"]).encode()).payload
        for each in bodies
        if each["type"] == "envelope"
    ]
    debate = [payload for payload in opened if isinstance(payload, Debate)][-1]
    pools = {pool.pool_id: pool for pool in plan.pools}
    found = {
        turn.number: option_table(
            option_names(debate.hold, turn.candidates, debate.exit),
            {name: pool.tick for name, pool in pools.items()},
            {name: pool.edge_7d for name, pool in pools.items()},
        )
        for turn in debate.rounds[:-1]
    }
    return {**found, len(debate.rounds): table_of(plan)}


def said(argued: Argued) -> Iterator[tuple[Statement, OptionTable]]:
    """Every sentence of card, reasons and debate that is code's own, with what it stands beside."""
    plan = argued.plan
    pools, own = plan_pools(plan), table_of(plan)
    for statement in card_statements(plan, pools):
        yield statement, own
    for words in reasons(plan, pools):
        yield Statement(words), own
    rounds = tables(argued)
    for turn in argued.ended.transcript:
        if not turn.thought.by_model:
            table = rounds.get(turn.thought.round, own)
            yield Statement(turn.thought.text, turn.thought.claims), table


def found_false(argued: Argued) -> list[str]:
    """By the claims that sentences carry, by what can be read from their words, and by figures."""
    wrong = []
    for statement, table in said(argued):
        read = [each.claim for each in claims_in(statement.words)]
        for made in contradictions((*statement.claims, *read), table):
            wrong.append(f"{statement.words} ← {made}")
    plan = argued.plan
    words = " ".join(plan.choice.reasons)
    for made in plan.choice.claims:
        if made.relation in _FIGURED and usd(abs(made.figures[0])) not in words:
            wrong.append(f"{words} ← not told: {made}")
    return wrong


async def argued_in(place: int, profile: RiskProfile, style: str | None) -> Argued:
    half_width, sigma, off, paid = SITUATIONS[place]
    market = Market(sigma, paid, half_width, off, profile=profile, gwei=0.2)
    model = None if style is None else Scripted(style)
    return await argue_over(market.position(), model=model)


async def test_no_sentence_contradicts_the_table_it_stands_beside() -> None:
    chance = Random(5)
    for place in chance.sample(range(len(SITUATIONS)), 40):
        argued = await argued_in(place, chance.choice([*RiskProfile]), chance.choice(BRAINS))
        assert found_false(argued) == []


@pytest.mark.soak
@pytest.mark.parametrize("style", BRAINS, ids=str)
async def test_450_situations_with_each_profile_and_brain(
    style: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    checked, wrong, kinds = 0, [], dict.fromkeys(("hold", "move", "exit"), 0)
    for place, profile in product(range(len(SITUATIONS)), RiskProfile):
        argued = await argued_in(place, profile, style)
        checked += sum(len(statement.claims) for statement, _ in said(argued))
        kinds[argued.plan.choice.kind] += 1
        wrong += found_false(argued)
    with capsys.disabled():
        told = f"\n{style or 'rules'}: {sum(kinds.values())} debates {kinds}, {checked:,} claims, "
        sys.stdout.write(f"{told}{len(wrong)} contradictions\n")
    assert wrong == []


def planted(plan: Plan) -> list[Claim]:
    """Real claims, each changed in one thing."""
    table = table_of(plan)
    names = [name for name in table.options if name not in (KEEP, CLOSE)]
    made: list[Claim] = []
    for name, option in table.options.items():
        assert option.net_7d is not None
        made.append(claim(name, Relation.NETS, 1.5 * option.net_7d + 1))
        if option.cost_usd:
            made.append(claim(name, Relation.COSTS, option.cost_usd / 2))
    nets = sorted(table.options, key=lambda name: table.options[name].net_7d or 0.0)
    made += [claim(low, Relation.NETS_MORE, than=high) for low, high in pairwise(nets)]
    made += [claim(name, Relation.NETS_MOST) for name in nets[:-1]]
    for name in names:
        inside = Relation.OUT_OF_RANGE if table.inside[name] else Relation.IN_RANGE
        made.append(claim(name, inside))
        buffer = table.options[name].buffer_hours
        assert buffer is not None
        made.append(claim(name, Relation.LASTS, buffer.at_1x * 1.2 + 1))
        judgment = table.options[name].judgment
        assert judgment is not None
        kept = judgment.by_rules.value == "accept"
        made.append(claim(name, Relation.BREAKS if kept else Relation.MEETS_LIMITS))
        never = Relation.NEVER if table.options[name].breaks_even else Relation.PAYS_BACK
        made.append(claim(name, never, 24.0))
        made.append(claim(name, Relation.PAID, 0.4))
    wide = sorted(names, key=lambda name: _width(plan, name))
    made += [claim(wide[0], Relation.WIDEST), claim(wide[-1], Relation.NARROWEST)]
    made += [claim(CLOSE, Relation.IS_PLAN), claim("Z", Relation.NETS, 1.0)]
    return made


def _width(plan: Plan, name: str) -> int:
    option = table_of(plan).options[name]
    return (option.tick_upper or 0) - (option.tick_lower or 0)


async def test_forty_planted_contradictions_are_found() -> None:
    context = Market(0.03, 1.3, half_width=0.1, off_centre=2.5, gwei=0.05).position()
    plan = (await argue_over(context)).plan
    wrong = planted(plan)
    assert len(wrong) >= 40
    assert contradictions(wrong, table_of(plan)) == wrong
    assert contradictions(plan.choice.claims, table_of(plan)) == []


async def test_false_comparisons_in_a_models_prose_are_struck_and_true_ones_are_not() -> None:
    context = Market(0.03, 1.3, half_width=0.1, off_centre=2.5, gwei=0.05).position()
    plan = (await argue_over(context)).plan
    table = table_of(plan)
    moves = [name for name in table.options if name not in (KEEP, CLOSE)]
    by_net = sorted(table.options, key=lambda name: table.options[name].net_7d or 0.0)
    by_width = sorted(moves, key=lambda name: _width(plan, name))
    true = [
        f"{by_net[-1]} nets the most of all.",
        f"{by_width[-1]} is the widest, {by_width[0]} is the narrowest.",
        f"Clearly {by_width[0]} is narrower than {by_width[-1]}.",
        "HOLD is out of range.",
        f"{by_net[-1]} nets more than {by_net[0]}, and {by_net[0]} nets less than {by_net[-1]}.",
        f"It is not so that {by_net[0]} nets the most.".replace("so that", "that"),
        f"If {by_net[0]} nets the most, we should wait.",
        "EXIT costs less than any of them; a move is no sin.",
    ]
    false = [
        f"{by_net[0]} nets the most of all.",
        f"I find that {by_width[0]} is the widest.",
        f"{by_width[-1]} is narrower than {by_width[0]}.",
        "HOLD is in range.",
        "Keep is still in range, so wait.",
        f"{by_net[0]} nets more than {by_net[-1]}.",
        f"{by_net[-1]} nets less than {by_net[0]}.",
        f"Option {by_net[0]} has the highest net.",
        f"Candidate {by_width[0]} lasts the longest.",
        f"{by_net[-1]} never pays.",
        f"{by_net[-1]} earns nothing.",
    ]
    assert [words for words in true if false_words(words, table)] == []
    assert [words for words in false if not false_words(words, table)] == []


async def test_what_a_model_boasts_is_struck_in_the_transcript_and_lures_are_taken_out() -> None:
    context = Market(0.03, 1.3, half_width=0.1, off_centre=2.5, gwei=0.05).position()
    argued = await argue_over(context, model=Scripted("boasts"))
    own = [turn.thought for turn in argued.ended.transcript if turn.thought.by_model]
    assert own
    for thought in own:
        assert "evil.example" not in thought.text
        assert "apply" not in thought.text
    struck = {flag.why for thought in own for flag in thought.struck}
    assert "not_so" in struck
    assert not any(thought.claims for thought in own)
