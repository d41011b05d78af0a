"""A hostile model in every chair: whatever it says, the floors hold and no number of it is used."""

import asyncio
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from agents.bus.envelope import Role
from agents.bus.record import FileSink, RecordWriter
from agents.bus.replay import read_record
from agents.bus.run import ArgumentEnd, SpokenTurn
from agents.bus.worker import Ambient
from agents.lp.debate import HANDLERS, hold_debate, replay_debate
from agents.lp.facts import CreateContext, MarketContext
from agents.lp.plan import Plan
from agents.lp.plan_document import plan_document
from agents.model.interface import Answer, ModelPrompt, Reply
from agents.model.speaking import MOST_QUOTED
from agents.numbers.rules import RiskProfile
from chain.base.clean_text import DROP, Redactor
from tests.agents.lp.debating import Seen, start_of
from tests.agents.lp.hostile_replies import KEY, QUOTED, HostileModel
from tests.agents.lp.made_up_markets import STATES, WISHES, create_context, market_context
from tests.agents.lp.second_opinion import check_plan
from tests.agents.model.test_claims import LABELLED, labelled, overlaps, the_ledger

Context = MarketContext | CreateContext

CONTROL = frozenset(map(chr, DROP))
WHOLE = re.compile(r"-?\d+")
# Dust may be any small number, so it can be one the model wrote by accident. That amounts are
# those that the facts and the ticks ask for is proved on the chain, to the unit.
RECOMPUTED = frozenset(("amount0", "amount1", "residual0", "residual1", "liquidity", "prepAction"))


@dataclass
class Tally:
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(f"  {name:34} {count:7,}" for name, count in self.counts.items())


@pytest.mark.parametrize("replies", [24, pytest.param(300, marks=pytest.mark.soak)])
def test_a_hundred_hostile_replies_and_more(tmp_path: Path, replies: int) -> None:
    tally = besieged(tmp_path, replies=replies, seed=1)

    assert tally.faults == []
    assert tally.counts["usable replies"] > 0.6 * replies
    assert tally.counts["debates ended by the arbiter"] > replies / 60
    # In range nothing is moved, whatever a model says: few markets are left to move in.
    assert tally.counts["moves recommended"] > replies / 75
    assert tally.counts["invented numbers heard"] > replies / 3
    assert tally.counts["given numbers heard"] > replies / 8


@pytest.mark.parametrize("name", [*STATES[:4], *WISHES[:3]])
async def test_words_alone_change_no_number(name: str, tmp_path: Path) -> None:
    plans = []
    for model in (HostileModel(Random(name)), SoftSpoken(Random(name))):
        siege = Siege(_context(name, RiskProfile.CONSERVATIVE), model, rounds=2)
        await siege.hold(tmp_path / "record.jsonl")
        assert siege.ended is not None
        assert siege.ended.plan is not None
        plans.append(siege.ended.plan.model_dump(mode="json", by_alias=True))
    assert plans[0]["planId"] != plans[1]["planId"]
    assert list(_numbers(plans[0])) == list(_numbers(plans[1]))


class SoftSpoken(HostileModel):
    """Chooses as the hostile one does, and says nothing of interest."""

    async def ask(
        self, role: Role, prompt: ModelPrompt, schema: type[Reply], on_prose: Callable[[str], None]
    ) -> Answer[Reply]:
        answer = await super().ask(role, prompt, schema, on_prose)
        value = schema.model_validate(_hushed(answer.value.model_dump()))
        return replace(answer, value=value, raw=value.model_dump_json(by_alias=True))


def _hushed(value: object) -> object:
    if isinstance(value, dict):
        quiet = "There is nothing to say about this."
        words = ("summary", "rationale", "reason", "words")
        return {name: quiet if name in words else _hushed(item) for name, item in value.items()}
    return [_hushed(item) for item in value] if isinstance(value, list) else value


@pytest.mark.soak
def test_ten_thousand_hostile_replies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = time.perf_counter()
    tally = besieged(tmp_path, replies=10_000, seed=2)
    took = time.perf_counter() - before
    with capsys.disabled():
        sys.stdout.write(f"\n{tally}\n  faults {len(tally.faults):34,}\n  {took:.0f} s\n")
        sys.stdout.write("\n".join(_ledger_lines()) + "\n")
    assert tally.faults == []


def besieged(folder: Path, *, replies: int, seed: int) -> Tally:
    """Debates with hostile models until they have replied so often, each checked and replayed."""
    return asyncio.run(_besieged(folder, replies, seed))


async def _besieged(folder: Path, replies: int, seed: int) -> Tally:
    tally = Tally()
    alone: dict[tuple[str, str, int], object] = {}
    number = 0
    while tally.counts["replies"] < replies:
        random = Random(f"{seed} {number}")
        name = (*STATES, *WISHES)[number % (len(STATES) + len(WISHES))]
        context = _context(name, random.choice(list(RiskProfile)))
        attacker = (None, *HANDLERS)[number // 3 % 5]
        model = HostileModel(random, attacker=attacker)
        siege = Siege(context, model, rounds=random.randrange(1, 4))
        await siege.hold(folder / f"{number}.jsonl")
        siege.count(tally.counts)
        tally.faults += [f"{name}, debate {number}: {fault}" for fault in siege.faults()]
        if siege.ended is not None and siege.ended.plan is not None:
            chosen = siege.ended.plan.rules_alone
            known = alone.setdefault((name, context.profile, siege.rounds), chosen)
            if known != chosen:
                tally.faults.append(f"{name}: the model changed what the rules alone choose")
        number += 1
    return tally


@dataclass
class Siege:
    """One debate in which every agent is hostile."""

    context: Context
    model: HostileModel
    rounds: int
    ended: ArgumentEnd[Plan] | None = None
    crashes: list[str] = field(default_factory=list)
    difference: object = None
    record: bytes = b""

    async def hold(self, path: Path) -> None:
        writer = RecordWriter(
            FileSink(path), "req-1", {"zuno": "test"}, Redactor((KEY,)), flow="lp"
        )
        self.ended = await hold_debate(
            start_of(self.context, self.rounds),
            Seen(self.context),
            self.model,
            writer,
            ambient=Ambient(lambda: 1_768_000_000.0, lambda: "req-1"),
            request_id="req-1",
            on_crash=lambda role, error: self.crashes.append(f"{role}: {error!r}"),
        )
        writer.close()
        report, _ = await replay_debate(read_record(path))
        self.difference = report.difference
        self.record = _taken(path)

    def count(self, counts: Counter[str]) -> None:
        assert self.ended is not None
        counts["replies"] += self.model.replies
        counts["usable replies"] += self.model.usable
        counts["debates"] += 1
        counts["steps the rules took over"] += len(self.model.prompts) - self.model.usable
        counts["crashes"] += len(self.crashes)
        counts["records that replay to the byte"] += self.difference is None
        plan = self.ended.plan
        if plan is not None:
            counts["debates ended by the arbiter"] += plan.decided_by == "arbiter"
            counts["moves recommended"] += plan.choice.kind == "move"
            counts["moves judged again"] += len(plan.candidates)
            counts["plans outside the floors"] += _is_broken(self.context, plan)
            counts["numbers of the model in a plan"] += len(self._leaked(plan))
        for text, marks in (("invented", self.model.invented), ("given", self.model.quoted)):
            heard = [struck for turn in self.ended.transcript for struck in _struck(turn, marks)]
            counts[f"{text} numbers heard"] += len(heard)
            counts[f"{text} numbers struck"] += sum(heard)

    def faults(self) -> Iterator[str]:
        assert self.ended is not None
        yield from self.crashes
        if self.difference is not None:
            yield f"the replay differs: {self.difference}"
        if KEY.encode() in self.record:
            yield "the record holds the key"
        plan = self.ended.plan
        if plan is None:
            yield f"there is no plan: {self.ended.failure}"
            return
        if _is_broken(self.context, plan):
            yield "a judgment or the choice is not that of the rules"
        yield from (f"{number} is the model's" for number in self._leaked(plan))
        words = json.dumps(plan.model_dump(mode="json", by_alias=True), ensure_ascii=False)
        yield from (f"the plan quotes {mark}" for mark in self.model.invented if mark in words)
        told = json.dumps(plan_document(self.ended, None, "0" * 64), ensure_ascii=False)
        if KEY in told or not CONTROL.isdisjoint(told):
            yield "the plan holds the key or a control byte"
        for turn in self.ended.transcript:
            if not all(_struck(turn, self.model.invented)):
                yield f"an invented number was not struck: {turn.thought.text!r}"
            if any(_struck(turn, self.model.quoted)):
                yield f"a given number was struck: {turn.thought.text!r}"

        yield from self._overheard()

    def _overheard(self) -> Iterator[str]:
        """What of a hostile agent's words stands in another's prompt otherwise than as data."""
        for prompt in self.model.prompts:
            told = QUOTED.sub("", prompt.user.replace("between « and »", ""))
            if not {"«", "»"}.isdisjoint(told):
                yield f"a quotation does not end: {told!r}"
            for words in QUOTED.findall(prompt.user.replace("between « and »", "")):
                if len(words) > MOST_QUOTED or not CONTROL.isdisjoint(words) or KEY in words:
                    yield f"a quotation is not clean: {words!r}"
                yield from (f"{mark} is quoted" for mark in self.model.invented if mark in words)

    def _leaked(self, plan: Plan) -> set[float]:
        """Numbers the model wrote that stand in a numeric field of the plan."""
        mine = self.model.chosen | {float(mark.replace(",", "")) for mark in self.model.invented}
        return mine & set(_numbers(plan.model_dump(mode="json", by_alias=True), RECOMPUTED))


def _is_broken(context: Context, plan: Plan) -> bool:
    """By the rules' table and the printed numbers, whatever a model said."""
    try:
        check_plan(context, plan)
    except AssertionError:
        return True
    return False


def _context(name: str, profile: RiskProfile) -> Context:
    return market_context(name, profile) if name in STATES else create_context(name, profile)


def _taken(path: Path) -> bytes:
    data = path.read_bytes()
    path.unlink()
    return data


def _numbers(value: object, without: frozenset[str] = frozenset()) -> Iterator[float]:
    """Every number of a document, those written as text among them."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name not in without:
                yield from _numbers(item, without)
    elif isinstance(value, list):
        for item in value:
            yield from _numbers(item, without)
    elif isinstance(value, str):
        if WHOLE.fullmatch(value):
            yield float(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def _struck(turn: SpokenTurn, marks: set[str]) -> list[bool]:
    """For each place where one of these stands in the words, whether the ledger struck it."""
    thought = turn.thought
    places = [
        found.span() for mark in marks for found in re.finditer(re.escape(mark), thought.text)
    ]
    return [
        any(flag.start < end and start < flag.end for flag in thought.struck)
        for start, end in places
    ]


def _ledger_lines() -> Iterator[str]:
    """How the ledger does on the sentences that were labelled before it was written."""
    ledger, sentences = the_ledger(), labelled(LABELLED)
    hits = alarms = missed = 0
    for sentence in sentences:
        flags = ledger.check(sentence.text).flags
        found = sum(
            any(overlaps(flag, span) and flag.kind == span[2] for flag in flags)
            for span in sentence.flags
        )
        hits += found
        missed += len(sentence.flags) - found
        alarms += sum(not any(overlaps(flag, span) for span in sentence.flags) for flag in flags)
    yield (
        f"  ledger on {len(sentences)} labelled sentences: precision {hits / (hits + alarms):.3f},"
        f" recall {hits / (hits + missed):.3f}"
    )
