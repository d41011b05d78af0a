"""Which chain it is and how high, by endpoints that are played; what is written down of it."""

import pytest
from msgspec.structs import replace

from chain.execution.outbox import same_chain
from chain.execution.outbox.heads import Genesis, Head, begin_heads_again, highest_head
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.lookup import EMBEDDED, ONE_ENDPOINT, Evidence, NamedReader
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Anchor, EndCode
from chain.execution.outbox.rules import PlanOverError
from chain.execution.outbox.same_chain import (
    ChainSight,
    ChainState,
    end_unused,
    keep_sight,
    newest_of,
    note_seen,
    require_same_chain,
    sight_chain,
)
from chain.rpc.errors import REORG_DEPTH, Malformed, NoEndpoint, Unreachable
from chain.rpc.records import Json
from chain.rpc.requests import Reader
from tests.chain.execution.outbox_kit import planned, transfer
from tests.chain.execution.told_node import ANCHOR, HEAD, block
from tests.fakes.told_reader import ToldReader

CHAIN = Genesis(31337, block(0).hash)
OTHER = Genesis(31337, block(0, fork="bb").hash)
SILENT = Unreachable("it is silent", endpoint="x")
LIVE = Evidence(doubt_seconds=0.0)


class Played:
    """An endpoint whose newest block is what a test says, one after the other."""

    def __init__(self, *heads: object, blocks: dict[int, object] | None = None) -> None:
        self.heads = list(heads)
        self.blocks: dict[int, object] = {0: block(0), 100: block(100), **(blocks or {})}

    def __call__(self, method: str, params: tuple[Json, ...]) -> object:
        assert method == "eth_getBlockByNumber"
        if params[0] == "latest":
            return self.heads.pop(0) if len(self.heads) > 1 else self.heads[0]
        return self.blocks.get(int(str(params[0]), 16))


def reader(*heads: object, blocks: dict[int, object] | None = None) -> ToldReader:
    return ToldReader(Played(*heads, blocks=blocks))


def witnessed(*readers: ToldReader, embedded: bool = False) -> Evidence:
    named = tuple(NamedReader(str(place), each) for place, each in enumerate(readers))
    return Evidence(named, doubt_seconds=0.0, embedded=embedded)


async def sighted(
    outbox: Outbox, reads: Reader, evidence: Evidence = LIVE, *, now: float = 5.0
) -> ChainSight:
    return await sight_chain(outbox, reads, evidence, 31337, now=now)


async def test_a_chain_is_known_by_its_first_block_and_seen_at_its_newest(outbox: Outbox) -> None:
    seen = await sighted(outbox, reader(block(HEAD)))

    assert seen == ChainSight(CHAIN, block(HEAD), None, ChainState.KNOWN, embedded=False)
    pruned = reader(block(HEAD), blocks={0: Malformed("gone", endpoint="x")})
    assert (await sighted(outbox, pruned)).chain == Genesis(31337, "")
    missing = reader(block(HEAD), blocks={0: None})
    assert (await sighted(outbox, missing)).chain == Genesis(31337, "")
    assert (await sighted(outbox, reader(block(9)), EMBEDDED)).embedded
    with pytest.raises(Malformed, match="no newest block"):
        await sighted(outbox, reader(None))
    with pytest.raises(Unreachable):
        await sighted(outbox, reader(SILENT))


async def test_of_several_the_second_highest_counts_and_it_is_asked_on(outbox: Outbox) -> None:
    first, second, third = (
        reader(block(300)),
        reader(block(200), blocks={0: block(0, fork="bb")}),
        reader(block(100)),
    )
    for order in ((first, second, third), (third, first, second), (second, third, first)):
        seen = await sighted(outbox, first, witnessed(*order))
        assert (seen.head.number, seen.chain) == (200, OTHER)
    two = await sighted(outbox, first, witnessed(first, third))
    assert two.head.number == 100
    alone = witnessed(first, reader(SILENT))
    with pytest.raises(NoEndpoint, match=r"it is silent.* No second endpoint"):
        await sighted(outbox, first, alone)
    other = Unreachable("another", endpoint="y")
    with pytest.raises(Unreachable) as raised:
        await sighted(outbox, first, witnessed(reader(SILENT), reader(other)))
    assert raised.value is SILENT


async def test_an_error_of_our_own_is_no_silence(outbox: Outbox) -> None:
    def broken(_method: str, _params: tuple[Json, ...]) -> object:
        raise ZeroDivisionError

    good = reader(block(HEAD))
    with pytest.raises(ZeroDivisionError):
        await sighted(outbox, good, witnessed(good, good, ToldReader(broken)))


@pytest.mark.parametrize(
    ("number", "age", "state"),
    [
        (HEAD, 9_999, ChainState.KNOWN),
        (HEAD - REORG_DEPTH, 9_999, ChainState.KNOWN),
        (HEAD - REORG_DEPTH - 1, 60, ChainState.KNOWN),
        (HEAD - REORG_DEPTH - 1, 60.5, ChainState.LAGGING),
        (HEAD - REORG_DEPTH - 1, 59, ChainState.KNOWN),
    ],
)
async def test_a_live_network_that_is_lower_lags_once_its_block_is_old(
    outbox: Outbox, number: int, age: float, state: ChainState
) -> None:
    highest = Head(HEAD, block(HEAD).hash)
    outbox.note_head(CHAIN, highest, now=1)
    head = block(number, timestamp=1_000)

    seen = await sighted(outbox, reader(head), now=1_000 + age)

    assert (seen.state, seen.highest, seen.head) == (state, highest, head)
    assert f"{number:,}, and 200 was seen before" in seen.lagging_words
    assert f"{number:,}, and {number:,} was" in replace(seen, highest=None).lagging_words


@pytest.mark.parametrize(
    ("heads", "there", "state", "number"),
    [
        ((HEAD,), block(HEAD), ChainState.KNOWN, HEAD),
        ((HEAD + 5,), block(HEAD), ChainState.KNOWN, HEAD + 5),
        ((HEAD + 5,), block(HEAD, fork="bb"), ChainState.REWRITTEN, HEAD + 5),
        ((HEAD + 5,), None, ChainState.REWRITTEN, HEAD + 5),
        ((HEAD - 1,), block(HEAD), ChainState.RESTARTED, HEAD - 1),
        # One of several machines lagged, and the next that is asked does not.
        ((HEAD - 1, HEAD), block(HEAD), ChainState.KNOWN, HEAD),
    ],
)
async def test_the_embedded_chain_is_held_against_its_highest_block(
    outbox: Outbox, heads: tuple[int, ...], there: object, state: ChainState, number: int
) -> None:
    outbox.note_head(CHAIN, Head(HEAD, block(HEAD).hash), now=1)
    reads = reader(*map(block, heads), blocks={HEAD: there})

    seen = await sighted(outbox, reads, EMBEDDED)

    assert (seen.state, seen.head.number) == (state, number)


def plan(outbox: Outbox, name: str, number: int, *, nonce: int = 5, chain_id: int = 31337) -> None:
    made = planned(
        replace(transfer(nonce), chain_id=chain_id),
        plan_id=name,
        hash=name,
        anchor=Anchor(number, block(number).hash),
    )
    outbox.plan(made, now=0)
    outbox.approve(name, now=0)


async def test_a_chain_is_at_least_as_high_as_what_is_approved_and_unused_on_it(
    outbox: Outbox,
) -> None:
    async def looks(*, now: float) -> int:
        """How often a chain of nine blocks is asked for its newest one."""
        reads = reader(block(9))
        await sighted(outbox, reads, EMBEDDED, now=now)
        return sum(params[0] == "latest" for _, params in reads.asked)

    assert await looks(now=1) == 1
    plan(outbox, "elsewhere", 900, chain_id=1)
    plan(outbox, "used", 800)
    outbox.consume("used", now=1)
    plan(outbox, "over", 700)
    outbox.end("over", EndCode.OTHER_CHAIN, now=1)
    assert await looks(now=1) == 1
    plan(outbox, "unused", 9)
    assert await looks(now=1) == 1
    plan(outbox, "higher", 50)
    assert await looks(now=1) > 1


@pytest.mark.parametrize(
    ("start", "known", "answers", "newest", "asked"),
    [
        (10, 10, [11], 10, 0),
        (9, 10, [10, 12], 10, 1),
        (9, 10, [9, 8, 11], 11, 3),
        (9, 10, [None, 7, 10], 10, 3),
        (5, 10, [7, 6, 6, 6, 6, 6, 6, 6, 6, 12], 7, 8),
    ],
)
async def test_a_head_that_is_too_low_is_asked_for_again_eight_times(
    start: int, known: int, answers: list[int | None], newest: int, asked: int
) -> None:
    told = [None if number is None else block(number) for number in answers]
    reads = ToldReader(lambda *_: told.pop(0))

    assert (await newest_of(reads, block(start), known)).number == newest
    assert len(reads.asked) == asked


async def test_of_two_heads_of_one_height_the_later_answer_counts() -> None:
    reads = ToldReader(lambda *_: block(9, fork="bb"))
    assert (await newest_of(reads, block(9), 10)).hash == block(9, fork="bb").hash


def ended(outbox: Outbox, name: str) -> EndCode | None:
    over = outbox.dispatch(name).ended
    return None if over is None else over.code


def sight(state: ChainState, number: int, highest: int | None, *, embedded: bool) -> ChainSight:
    before = None if highest is None else Head(highest, block(highest).hash)
    return ChainSight(CHAIN, block(number), before, state, embedded)


@pytest.mark.parametrize(
    ("state", "number", "embedded", "kept", "ends"),
    [
        (ChainState.LAGGING, 90, False, 200, ()),
        (ChainState.RESTARTED, 90, True, 90, ("used", "low", "high")),
        (ChainState.REWRITTEN, 250, True, 250, ("low", "high")),
        (ChainState.REWRITTEN, 90, True, 90, ("low", "high")),
        # An approval that was built on a higher block was given before a restart.
        (ChainState.KNOWN, 250, True, 250, ("high",)),
        (ChainState.KNOWN, 300, True, 300, ()),
        (ChainState.KNOWN, 250, False, 250, ()),
        (ChainState.KNOWN, 200 - REORG_DEPTH, False, 200, ()),
        (ChainState.KNOWN, 200 - REORG_DEPTH - 1, False, 199 - REORG_DEPTH, ()),
    ],
)
def test_what_a_sight_leaves_in_the_journal(
    outbox: Outbox,
    state: ChainState,
    number: int,
    embedded: bool,
    kept: int,
    ends: tuple[str, ...],
) -> None:
    plan(outbox, "used", 10)
    outbox.consume("used", now=1)
    for name, built_on in (("low", 60), ("high", 300)):
        plan(outbox, name, built_on)
    plan(outbox, "elsewhere", 300, chain_id=1)
    outbox.note_head(CHAIN, Head(200, block(200).hash), now=1)

    keep_sight(outbox, sight(state, number, 200, embedded=embedded), now=7)

    assert outbox.highest_head(CHAIN) == Head(kept, block(kept).hash)
    over = {name: ended(outbox, name) for name in ("used", "low", "high", "elsewhere")}
    assert {name for name, code in over.items() if code} == set(ends)
    assert set(over.values()) <= {None, EndCode.CHAIN_RESTARTED}


def test_the_first_sight_of_a_live_chain_is_kept(outbox: Outbox) -> None:
    keep_sight(outbox, sight(ChainState.KNOWN, 50, None, embedded=False), now=7)
    assert outbox.highest_head(CHAIN) == Head(50, block(50).hash)


@pytest.mark.parametrize(
    ("embedded", "number", "kept", "code"),
    [
        (True, 99, 99, EndCode.CHAIN_RESTARTED),
        (True, 100, 100, None),
        (True, 101, 101, None),
        (False, 99, 100, None),
        (False, 101, 101, None),
    ],
)
def test_what_is_seen_while_a_plan_is_followed(
    outbox: Outbox, embedded: bool, number: int, kept: int, code: EndCode | None
) -> None:
    evidence = replace(LIVE, embedded=embedded)
    plan(outbox, "plan", 10)
    note_seen(outbox, evidence, CHAIN, block(100), now=1)
    assert outbox.highest_head(CHAIN) == Head(100, block(100).hash)

    note_seen(outbox, evidence, CHAIN, block(number), now=2)

    assert outbox.highest_head(CHAIN) == Head(kept, block(kept).hash)
    assert ended(outbox, "plan") is code


@pytest.mark.parametrize("above", [None, 0, 50, 60])
def test_what_was_approved_and_not_used_ends(outbox: Outbox, above: int | None) -> None:
    for name, number in (("first", 0), ("middle", 50), ("last", 60)):
        plan(outbox, name, number)
    plan(outbox, "used", 60)
    outbox.consume("used", now=1)
    plan(outbox, "elsewhere", 60, chain_id=1)
    plan(outbox, "over", 60)
    outbox.end("over", EndCode.OTHER_CHAIN, now=1)

    end_unused(outbox, 31337, built_above=above, now=2)

    for name, number in (("first", 0), ("middle", 50), ("last", 60)):
        is_over = above is None or number > above
        assert ended(outbox, name) is (EndCode.CHAIN_RESTARTED if is_over else None)
    assert (ended(outbox, "used"), ended(outbox, "elsewhere")) == (None, None)
    assert ended(outbox, "over") is EndCode.OTHER_CHAIN


class Waiting:
    """A clock that moves only while it is waited."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waits = self.looks = 0

    def clock(self) -> float:
        self.looks += 1
        assert self.looks < 100, "nothing is waited for"
        return self.now

    async def wait(self) -> None:
        self.now += 1.0
        self.waits += 1


async def required(
    outbox: Outbox, reads: Reader, evidence: Evidence, waiting: Waiting | None = None
) -> Genesis:
    time = waiting or Waiting()
    return await require_same_chain(
        outbox,
        reads,
        evidence,
        outbox.dispatch("plan"),
        clock=time.clock,
        wait=time.wait,
        seconds=3.0,
    )


HERE = block(HEAD, timestamp=90)
ELSEWHERE: dict[int, object] = {ANCHOR.number: block(ANCHOR.number, fork="bb")}
UNKNOWN: dict[int, object] = {ANCHOR.number: None}


async def test_the_chain_of_a_plan_has_its_block(outbox: Outbox) -> None:
    plan(outbox, "plan", ANCHOR.number)
    assert await required(outbox, reader(HERE), ONE_ENDPOINT) == CHAIN
    assert outbox.highest_head(CHAIN) == Head(HEAD, HERE.hash)
    two = witnessed(reader(HERE), reader(HERE), reader(HERE, blocks=ELSEWHERE))
    assert await required(outbox, reader(HERE), two) == CHAIN
    assert ended(outbox, "plan") is None


@pytest.mark.parametrize(
    ("evidence", "blocks", "code"),
    [
        (ONE_ENDPOINT, ELSEWHERE, EndCode.OTHER_CHAIN),
        (EMBEDDED, ELSEWHERE, EndCode.CHAIN_RESTARTED),
        (EMBEDDED, UNKNOWN, EndCode.CHAIN_RESTARTED),
    ],
)
async def test_another_block_in_its_place_ends_a_plan(
    outbox: Outbox, evidence: Evidence, blocks: dict[int, object], code: EndCode
) -> None:
    plan(outbox, "plan", ANCHOR.number)
    with pytest.raises(PlanOverError) as refused:
        await required(outbox, reader(HERE, blocks=blocks), evidence)
    assert refused.value.code is ended(outbox, "plan") is code
    with pytest.raises(PlanOverError):
        await required(outbox, reader(HERE), evidence)


async def test_two_that_say_so_end_it_and_one_is_waited_for(outbox: Outbox) -> None:
    plan(outbox, "plan", ANCHOR.number)
    good, other, behind = (
        reader(HERE, blocks={HEAD: HERE, **blocks}) for blocks in ({}, ELSEWHERE, UNKNOWN)
    )
    for evidence in (
        witnessed(good, behind),
        witnessed(good, other),
        witnessed(other, behind),
        witnessed(good, other, embedded=True),
    ):
        waiting = Waiting()
        with pytest.raises(OutboxError, match="Too few endpoints know the block") as refused:
            await required(outbox, good, evidence, waiting)
        assert not isinstance(refused.value, PlanOverError)
        assert (waiting.waits, ended(outbox, "plan")) == (3, None)
    with pytest.raises(PlanOverError):
        await required(outbox, good, witnessed(good, other, other))
    assert ended(outbox, "plan") is EndCode.OTHER_CHAIN


async def test_an_endpoint_that_catches_up_in_time_is_enough(outbox: Outbox) -> None:
    plan(outbox, "plan", ANCHOR.number)
    catching = Played(HERE, blocks={**UNKNOWN})
    waiting = Waiting()

    def later(method: str, params: tuple[Json, ...]) -> object:
        if waiting.waits == 2:
            catching.blocks[ANCHOR.number] = block(ANCHOR.number)
        return catching(method, params)

    assert await required(outbox, ToldReader(later), ONE_ENDPOINT, waiting) == CHAIN
    assert waiting.waits == 2


async def test_an_endpoint_that_lags_says_nothing_of_a_plan(outbox: Outbox) -> None:
    plan(outbox, "plan", ANCHOR.number)
    outbox.note_head(CHAIN, Head(10_000, "0xff"), now=1)
    old = block(HEAD, timestamp=1)
    with pytest.raises(OutboxError, match=r"the endpoint lags.* Nothing was sent"):
        await required(outbox, reader(old), ONE_ENDPOINT)
    assert outbox.highest_head(CHAIN) == Head(10_000, "0xff")


def test_heads_are_kept_by_chain_and_begun_again_alone(outbox: Outbox) -> None:
    journal = outbox._connection
    for chain in (CHAIN, OTHER, Genesis(1, CHAIN.hash)):
        outbox.note_head(chain, Head(100, "0x1"), now=1)
    outbox.note_head(CHAIN, Head(100, "0x2"), now=2)
    assert highest_head(journal, CHAIN) == Head(100, "0x2")
    outbox.note_head(CHAIN, Head(99, "0x3"), now=3)
    assert highest_head(journal, CHAIN) == Head(100, "0x2")
    begin_heads_again(journal, CHAIN, Head(5, "0x5"), 4)
    assert highest_head(journal, CHAIN) == Head(5, "0x5")
    assert highest_head(journal, OTHER) == highest_head(journal, Genesis(1, CHAIN.hash))
    assert highest_head(journal, OTHER) == Head(100, "0x1")
    assert same_chain.STALE_SECONDS == 60
