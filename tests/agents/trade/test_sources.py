"""Liquidations, news and narrative: real shapes, whole, broken and hostile; any may be down."""

import codecs
import json
from collections.abc import Callable
from email.utils import formatdate
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest

from agents.bus.envelope import Role
from agents.bus.replay import read_record
from agents.memory.memory import CHANNEL, TradeMemory
from agents.model.interface import (
    Answer,
    ModelPrompt,
    ModelUnavailable,
    Reply,
    Unavailability,
    Usage,
)
from agents.model.reply_text import parse_reply
from agents.trade.facts import ContextSection, DeskQuestion
from agents.trade.flow import replay_desk
from agents.trade.observe.news import MemoryIngestion, NarrativeReader, NewsReader, read_feed
from agents.trade.observe.observer import LiquidationsReader, MarketObserver, section
from agents.trade.payloads import TradeKind
from agents.trade.plan import TradePlan, trade_plan_identity
from agents.trade.services import DeskObservation
from agents.trade.terms import (
    ExpertName,
    Objective,
    SectionName,
    SectionStatus,
    TradeDecision,
    TradeMode,
)
from chain.base.clean_text import Redactor
from chain.exchange.public.binance import BinancePublic, ExchangeAddress
from chain.exchange.public.market import FundingState
from chain.exchange.public.okx import OkxPublic
from chain.prices.market_http import MarketError
from tests.agents.trade.cases import HEDGED, account, question
from tests.agents.trade.desks import Argued, Seen, argue, observer
from tests.agents.trade.offices import rising_market
from tests.fakes.exchange import ExchangeDouble, Refusal
from tests.printed import printed

NOW = 1_768_181_400.0
_LISTED = "/api/v5/public/liquidation-orders"
_CONTRACT = "/api/v5/public/instruments"


def page(content: object) -> Refusal:
    return Refusal(200, json.dumps(content).encode())


def liquidation(side: str, size: str, ago: float, mode: str = "") -> dict[str, str]:
    return {
        "bkLoss": "0",
        "bkPx": "3000",
        "posSide": mode or side,
        "side": "sell" if side == "long" else "buy",
        "sz": size,
        "ts": str(int((NOW - ago) * 1000)),
    }


async def liquidated(details: list[dict[str, str]], **pages: Refusal) -> ContextSection:
    listed = {"code": "0", "data": [{"instId": "ETH-USDT-SWAP", "details": details}]}
    contract = {"code": "0", "data": [{"ctVal": "0.1", "ctValCcy": "ETH"}]}
    double = ExchangeDouble(faults={_LISTED: page(listed), _CONTRACT: page(contract)})
    double.faults |= {
        {"listed": _LISTED, "contract": _CONTRACT}[key]: one for key, one in pages.items()
    }
    async with double.running() as url:
        source = OkxPublic(url)
        try:
            return await LiquidationsReader(source, lambda: NOW).read("ETH")
        finally:
            await source.close()


async def test_liquidations_are_those_of_a_real_hour_split_by_side() -> None:
    found = await liquidated(
        [
            liquidation("long", "10", 60),
            liquidation("short", "4", 3_599, mode="net"),
            liquidation("long", "1000", 3_601),
        ]
    )

    assert found.numbers == {"long_usd": 3_000.0, "short_usd": 1_200.0}
    assert found.status is SectionStatus.OK
    assert "at least" not in found.text


async def test_more_liquidations_than_can_be_read_are_a_lower_bound_or_refused() -> None:
    with pytest.raises(MarketError):
        await liquidated([liquidation("long", "1", 60)] * 100)


@pytest.mark.parametrize(
    "wrong",
    [
        {"listed": Refusal(503)},
        {"listed": page({"code": "50011", "msg": "too many", "data": []})},
        {"listed": page({"code": "0", "data": [{"details": [{"sz": "1"}]}]})},
        {"contract": page({"code": "0", "data": []})},
        {"contract": page({"code": "0", "data": [{"ctVal": "0.1", "ctValCcy": "BTC"}]})},
        {"contract": page([])},
    ],
)
async def test_a_venue_that_lies_or_is_down_tells_no_liquidations(
    wrong: dict[str, Refusal],
) -> None:
    with pytest.raises(MarketError):
        await liquidated([liquidation("long", "1", 60)], **wrong)


def rss(*items: tuple[str, float]) -> bytes:
    entries = "".join(
        f"<item><title>{title}</title><pubDate>{formatdate(time)}</pubDate></item>"
        for title, time in items
    )
    return f'<?xml version="1.0"?><rss version="2.0"><channel>{entries}</channel></rss>'.encode()


ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom">
<entry><title type="html">An &amp; other</title>
<updated>2026-01-12T01:00:00Z</updated></entry><entry><title>No time</title></entry></feed>"""


def test_feeds_are_read_in_both_forms_and_nothing_in_them_is_obeyed() -> None:
    found = read_feed(rss(("One \u202eevil", NOW), ("Two", NOW + 5)), "a.feed")
    atom = read_feed(ATOM, "a.feed")

    assert found[0].title == "Two"
    assert "\u202e" not in found[1].title
    assert [one.title for one in atom] == ["An & other"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_a_feed_is_read_in_any_encoding(encoding: str) -> None:
    text = rss(("Größe 東京", NOW)).decode()
    assert [one.title for one in read_feed(text.encode(encoding), "a.feed")] == ["Größe 東京"]


def test_a_feed_is_read_in_the_encoding_that_it_declares() -> None:
    text = rss(("Größe", NOW)).decode().replace("?>", ' encoding="iso-8859-1"?>', 1)
    assert [one.title for one in read_feed(text.encode("iso-8859-1"), "a.feed")] == ["Größe"]


BOMB = '<!DOCTYPE x [<!ENTITY a "aa">]><rss><item><title>&a;</title></item></rss>'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html><body>no</body></html>",
        b"<rss><channel><item>",
        b'{"not": "xml"}',
        BOMB.encode(),
        BOMB.encode("utf-16"),
        BOMB.encode("utf-16-le"),
        BOMB.encode("utf-16-be"),
        BOMB.encode("utf-32"),
        codecs.BOM_UTF8 + BOMB.encode(),
        b'<?xml version="1.0" encoding="utf-7"?>' + BOMB.encode("utf-7"),
        b'<?xml version="1.0" encoding="no-such-code"?><rss></rss>',
        b"<rss>" + b"<a>" * 50_000 + b"</a>" * 50_000 + b"</rss>",
    ],
)
def test_what_is_no_feed_is_refused(body: bytes) -> None:
    with pytest.raises(MarketError):
        read_feed(body, "a.feed")


async def test_news_are_of_the_last_hours_and_one_dead_feed_spoils_no_other() -> None:
    body = rss(
        ("Fresh", NOW - 60),
        ("Morning", NOW - 3_601),
        ("Old", NOW - 5 * 3600),
        ("Tomorrow", NOW + 86_400),
    )
    double = ExchangeDouble(faults={"/one": Refusal(200, body), "/two": Refusal(500)})
    async with double.running() as url:
        reader = NewsReader((f"{url}/one", f"{url}/two"), lambda: NOW)
        found = await reader.read("ETH")
        await reader.close()
        dead = NewsReader((f"{url}/two",), lambda: NOW)
        with pytest.raises(MarketError):
            await dead.read("ETH")
        await dead.close()
        urgent = NewsReader((f"{url}/one",), lambda: NOW, emergency=True)
        hour = await urgent.read("ETH")
        await urgent.close()

    assert found.text == "Fresh\nMorning"
    assert hour.text == "Fresh"
    assert found.numbers == {"headlines": 2, "feeds": 1, "failed": 1}


class Searching:
    """A model that answers with this, or fails."""

    def __init__(self, reply: dict[str, object] | None) -> None:
        self.reply = reply
        self.told: list[str] = []

    async def ask(
        self, role: Role, prompt: ModelPrompt, schema: type[Reply], on_prose: Callable[[str], None]
    ) -> Answer[Reply]:
        self.told.append(prompt.user)
        if self.reply is None:
            raise ModelUnavailable(Unavailability.UNREACHABLE, "Nobody is there.")
        read = parse_reply(json.dumps(self.reply), schema, Redactor())
        return Answer(read.value, Usage(1, 1, estimated=False), read.text, "sonar-pro")


async def test_a_narrative_is_a_strangers_text_or_missing() -> None:
    said: dict[str, object] = {
        "summary": "Calm.",
        "sentiment": "neutral",
        "bullishFactors": ["Flows\x07."],
    }
    found = await NarrativeReader(Searching(said), lambda: NOW).read("ETH")

    assert found.text.splitlines() == ["Calm.", "for a rise: Flows."]
    assert (found.source, found.numbers) == ("sonar-pro", {})
    with pytest.raises(MarketError):
        await NarrativeReader(Searching(None), lambda: NOW).read("ETH")


async def test_texts_are_filed_once_an_hour_and_never_among_post_mortems(tmp_path: Path) -> None:
    texts = {
        name: section(name, "test", f"{name.value} says panic", {}, as_of=NOW, now=NOW)
        for name in (SectionName.NARRATIVE, SectionName.NEWS)
    }
    clock = [NOW]
    extracting = Searching({"summary": "It says panic.", "claims": ["A hack."]})
    memory = TradeMemory(tmp_path)
    filing = MemoryIngestion(memory, lambda: clock[0], extracting)

    first = await filing.ingest(texts, "ETH")
    again = await filing.ingest(texts, "ETH")
    clock[0] += 3600
    later = await filing.ingest(texts, "ETH")

    assert [one.numbers["new"] for one in (first, again, later)] == [2, 0, 2]
    assert len(extracting.told) == 4
    assert memory.similar("ETHUSDT", "panic hack") == ()
    with pytest.raises(ValueError, match="post-mortem"):
        memory.file_text("x", CHANNEL, "a lie")
    empty = await filing.ingest({}, "ETH")
    assert empty.status is SectionStatus.UNAVAILABLE
    memory.close()


@pytest.mark.parametrize("down", list(SectionName))
async def test_each_of_twelve_sources_down_ends_in_a_marked_decision(down: SectionName) -> None:
    seen = rising_market()
    dark = tuple(
        one.model_copy(
            update={"status": SectionStatus.UNAVAILABLE, "numbers": {}, "as_of": None, "text": "x"}
        )
        if one.name is down
        else one
        for one in seen.sections
    )
    plan = (await argue(question(), Seen(seen.model_copy(update={"sections": dark})))).ended.plan

    assert plan is not None
    printed(f"G8: without {down.value} {plan.decision.value}, by failure {plan.by_failure}")
    assert plan.missing == (down,)
    assert plan.by_failure is (down is SectionName.FUNDING)
    if down is SectionName.FUNDING:
        assert plan.decision is TradeDecision.HOLD


class PaidByTheHour:
    """The contracts of a venue beside the market that is argued about."""

    def __init__(self, fault: MarketError | None = None) -> None:
        self._fault = fault

    async def funding(self, _: str) -> FundingState:
        if self._fault is not None:
            raise self._fault
        return FundingState(NOW, 3_000.0, 3_000.0, 0.0000125, 1.0)


async def test_funding_is_that_of_the_contract_that_would_be_traded_by_its_own_interval() -> None:
    async with ExchangeDouble().running() as url, BinancePublic(ExchangeAddress(url)) as market:
        seen = await _funding(MarketObserver(market, contracts=PaidByTheHour(), sample_seconds=0))
        down = MarketObserver(
            market, contracts=PaidByTheHour(MarketError("down")), sample_seconds=0
        )
        unknown = await _funding(down)
        own = await _funding(MarketObserver(market, contracts=market, sample_seconds=0))

    assert seen.numbers["rate"] == pytest.approx(8 * 0.0000125)
    assert "Funding +0.0100% for 8 h, paid every 1 h, mark" in seen.text
    assert unknown.status is SectionStatus.UNAVAILABLE
    assert own.status is SectionStatus.OK
    assert "paid every" not in own.text


async def _funding(observer: MarketObserver) -> ContextSection:
    sections = (await observer.look(question())).sections
    return next(one for one in sections if one.name is SectionName.FUNDING)


async def seen(asked: DeskQuestion, double: ExchangeDouble | None = None) -> DeskObservation:
    async with observer(double or ExchangeDouble()) as eyes:
        return await eyes.look(asked)


async def argued(asked: DeskQuestion, double: ExchangeDouble | None = None) -> Argued:
    return await argue(asked, Seen(await seen(asked, double)))


def plan_of(one: Argued) -> TradePlan:
    assert one.ended.plan is not None, one.ended.failure
    return one.ended.plan


def kinds(one: Argued) -> list[tuple[str, str, str]]:
    bodies = [json.loads(line)["body"] for line in one.lines]
    return [(body["from"], body["kind"], body["to"]) for body in bodies if "kind" in body]


async def test_every_stage_speaks_in_its_place_and_every_expert_is_heard() -> None:
    one = await argued(question())
    said = kinds(one)
    plan = plan_of(one)

    assert plan.anomalies == ()
    assert [finding.expert for finding in plan.findings] == list(ExpertName)
    assert all(finding.fallback for finding in plan.findings)
    barriers = [
        TradeKind.FLOW_DESK_START,
        TradeKind.DESK_SNAPSHOT,
        TradeKind.DESK_CONTEXT,
        TradeKind.REGIME_CLASSIFIED,
        TradeKind.TRIAGE_DONE,
        TradeKind.EXPERT_FINDING,
        TradeKind.SYNTHESIS_READY,
        TradeKind.DECISION_DRAFT,
        TradeKind.RISK_VERDICT,
        TradeKind.GUARD_VERDICT,
        TradeKind.TRADE_PLAN_READY,
    ]
    first = [next(at for at, turn in enumerate(said) if turn[1] == kind) for kind in barriers]
    assert first == sorted(first)
    last_finding = max(at for at, turn in enumerate(said) if turn[1] == TradeKind.EXPERT_FINDING)
    assert last_finding < first[barriers.index(TradeKind.SYNTHESIS_READY)]
    chart = said.index(("chart", TradeKind.CHART_READY, "vlm_geometry"))
    assert chart < said.index(("vlm_geometry", TradeKind.EXPERT_FINDING, "synthesis"))
    assert not any(turn[1] == "model_reply" for turn in said)


async def test_what_is_seen_has_its_units_its_source_and_its_time() -> None:
    found = await seen(question())
    market = found.market
    assert market is not None
    about = {one.name: one for one in found.sections}

    assert [one.interval for one in (market.hours, market.slow)] == ["1h", "4h"]
    assert len(market.hours.rows) >= 160
    assert abs(about[SectionName.FUNDING].numbers["rate"]) <= 0.00075
    day = market.hours.candles[-24:]
    delta = sum(2 * candle.taker_buy - candle.volume for candle in day)
    assert about[SectionName.CVD].numbers["cvd_24h"] == pytest.approx(
        delta, abs=4
    )  # rows have six digits
    assert {"spread_bips", "imbalance5", "imbalance20", "buy_slippage_bips"} <= set(
        about[SectionName.MICROSTRUCTURE].numbers
    )
    assert market.book is not None
    assert len(market.book.samples) == 3
    for one in found.sections:
        assert (one.as_of is None) is (one.status is SectionStatus.UNAVAILABLE)


async def test_every_expert_is_told_what_triage_found() -> None:
    one = await argued(question())
    bodies = [json.loads(line)["body"] for line in one.lines]
    told = {
        body["to"]: body["payload"]["triage"]["anomalies"]
        for body in bodies
        if body.get("kind") in (TradeKind.TRIAGE_DONE, TradeKind.CHART_READY)
    }

    assert {"liquidity", "microstructure", "macro", "vlm_geometry"} <= set(told)


async def test_the_ladder_only_descends_and_the_plan_is_its_own_hash() -> None:
    for asked in (question(), question(hedge=HEDGED), question(mode=TradeMode.POSITION)):
        plan = plan_of(await argued(asked))
        stages = [step.stage for step in plan.ladder]
        assert stages == ["judge", "expected_value", "budget", "risk_officer", "leverage_guard"]
        for before, after in pairwise(plan.ladder):
            assert after.allocation_pct <= before.allocation_pct
            assert after.leverage <= before.leverage
            assert after.decision in (before.decision, TradeDecision.HOLD)
        assert plan.plan_id == trade_plan_identity(plan)
        assert plan.notional_usd <= 2_000.0
        assert plan.mode is asked.mode


async def test_a_record_replays_byte_for_byte_without_a_venue(tmp_path: Path) -> None:
    first = await argued(question(hedge=HEDGED))
    path = tmp_path / "req_trade.jsonl"
    path.write_bytes(b"".join(first.lines))

    report, ended = await replay_desk(read_record(path))

    assert report.matches
    assert ended.plan == first.ended.plan
    again = await argued(question(hedge=HEDGED))
    hashes = [sha256(b"".join(one.lines)).hexdigest()[:16] for one in (first, again)]
    printed(f"G13: records of the same run twice: {hashes[0]}, {hashes[1]}")
    assert b"".join(again.lines) == b"".join(first.lines)


async def test_a_hedge_sells_a_share_of_the_position_and_never_more() -> None:
    plan = plan_of(await argued(question(hedge=HEDGED)))

    assert plan.objective is Objective.HEDGE
    assert plan.hedge is not None
    assert plan.hedge.wanted <= HEDGED.delta
    assert plan.hedge.reached + plan.hedge.net_delta == pytest.approx(HEDGED.delta)
    if plan.decision is TradeDecision.SHORT:
        resting, rest = plan.orders
        assert (resting.side, resting.type, rest.side, rest.type) == (
            ("sell", "maker", "sell", "market")
        )
        assert (rest.finishes, rest.quantity) == (True, resting.quantity)
        assert plan.quantity == pytest.approx(plan.hedge.reached)


async def test_a_hedge_that_is_too_large_is_bought_back_and_only_reduced() -> None:
    plan = plan_of(await argued(question(hedge=HEDGED, of=account(held=-2.0))))

    assert plan.decision is TradeDecision.CANCEL_AND_CLOSE
    assert plan.hedge is not None
    [order] = plan.orders
    assert (order.side, order.type, order.reduce_only) == ("buy", "market", True)
    assert 2.0 - order.quantity == pytest.approx(plan.hedge.wanted)


async def test_an_exit_is_neither_vetoed_nor_guarded() -> None:
    """Twenty times the account is short: nothing may be opened, and leaving is still allowed."""
    deep = account(equity=1_000.0, held=-7.0)
    plan = plan_of(await argued(question(hedge=HEDGED, of=deep)))

    assert plan.decision is TradeDecision.CANCEL_AND_CLOSE
    assert plan.leverage_before is not None
    assert plan.leverage_before > 2
    assert plan.orders


async def test_an_account_that_is_unknown_opens_nothing_and_says_so() -> None:
    plan = plan_of(await argued(question(hedge=HEDGED, of=account(equity=None))))

    assert plan.decision is TradeDecision.HOLD
    assert plan.by_failure
    assert plan.orders == ()


_PATHS = {
    SectionName.FUNDING: "/fapi/v1/premiumIndex",
    SectionName.CVD: "/fapi/v1/klines",
    SectionName.MICROSTRUCTURE: "/fapi/v1/depth",
}


@pytest.mark.parametrize("down", [*_PATHS, None])
async def test_each_source_may_be_down_and_the_desk_still_ends(
    down: SectionName | None,
) -> None:
    """Those that the venue serves are refused by it; the others nobody has set here."""
    double = ExchangeDouble()
    if down is not None:
        double.faults[_PATHS[down]] = Refusal(503)
    plan = plan_of(await argued(question(), double))

    own = (SectionName.MEMORY, SectionName.LESSONS)
    served = {name for name in _PATHS if name is not down}
    assert set(plan.missing) == set(SectionName) - served - set(own)
    assert plan.by_failure is (down in (SectionName.FUNDING, SectionName.CVD))
    if down in (SectionName.FUNDING, SectionName.CVD):
        assert plan.decision is TradeDecision.HOLD


async def test_a_dead_venue_ends_in_a_hold_by_failure() -> None:
    double = ExchangeDouble(faults={"/fapi/v1/time": Refusal(451)})
    plan = plan_of(await argued(question(), double))

    assert (plan.decision, plan.by_failure) == (TradeDecision.HOLD, True)
    assert plan.reason
