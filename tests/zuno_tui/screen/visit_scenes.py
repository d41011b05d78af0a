"""What the desk tells of one position, of pools, records and what was sent."""

import math
from fractions import Fraction

from chain.base.units import Known
from chain.contracts.hooks import NO_HOOK, Danger
from chain.protocols.reference import v4_position
from tests.zuno_tui.screen.scenes import NOW
from zuno_tui.present.pages.pools import UNREAD, ListedPool, ProtocolFees
from zuno_tui.present.position import DetailView, KeyFigure, RangeStanding
from zuno_tui.present.views import (
    ChartView,
    DebateView,
    DispatchView,
    RecordRow,
    SettingRow,
    Struck,
    TurnView,
)

_HOURS = 168


def _price(hour: int) -> float:
    return 1790 + 60 * math.sin(hour / 17) + 40 * math.sin(hour / 5) + hour * 0.6


DETAIL = DetailView(
    ref=v4_position(7),
    title="#7 WETH/USDC 0.05% · out of range",
    facts=(
        ("price", "1,903.5 USDC per WETH"),
        ("ticks", "−202450 to −200960, now −200840"),
        ("holds", "1.204 WETH + 15,804.12 USDC = $18,154.51"),
        ("to collect", "0.0041 WETH + 4.40 USDC = $12.40"),
        ("share", "0.51% of the liquidity that earns fees now"),
        ("opened", "12 d ago"),
        ("vs holding", "+$41.20, impermanent loss −0.812%"),
        ("a day", "+$3.18 = fees $9.02 less LVR $5.84, measured over 24 h"),
        ("pool", "0x78da…be98"),
        ("hook", "This pool has no hook."),
        ("owner", "0x5290…9EE7"),
        ("pays", "the pool paid 2.83 × its risk in the past 7 days"),
    ),
    price=ChartView(
        tuple(NOW - (_HOURS - hour) * 3600 for hour in range(_HOURS)),
        tuple(_price(hour) for hour in range(_HOURS)),
        1620.42,
        1880.77,
        fees=tuple(
            (NOW - (_HOURS - hour) * 3600, 0.2 * (hour % 7)) for hour in range(0, _HOURS, 3)
        ),
        changes=((NOW - 5 * 86_400, 1), (NOW - 86_400, -1)),
    ),
    liquidity=tuple(
        (1400 + step * 10.0, 20 + 160 * math.exp(-(((step - 48) / 14) ** 2))) for step in range(90)
    ),
    fees_by_day=(
        ("Nov 08", 31.20, 12.44),
        ("Nov 09", 0.44, 0.16),
        ("Nov 10", 8.12, 2.04),
        ("Nov 11", 7.40, 3.11),
        ("Nov 12", 9.91, 14.72),
        ("Nov 13", 10.02, 6.01),
        ("Nov 14", 9.02, 5.84),
    ),
    history=(
        "2026-11-03 opened with 1.5 WETH + 15,000 USDC",
        "2026-11-09 collected 0.011 WETH + 21.02 USDC",
    ),
    days_sum=(
        KeyFigure("these days (UTC)", "+$31.79", "good"),
        KeyFigure("price moves and the days before Nov 08", "+$9.41", "good"),
        KeyFigure("against holding, since it was opened", "+$41.20", "good"),
    ),
    figures=(
        KeyFigure("worth before fees", "$18,154.51"),
        KeyFigure("to collect", "$12.40"),
        KeyFigure("fee APR 24 h", "18.1%"),
        KeyFigure("vs holding", "+$41.20", "good"),
    ),
    standing=RangeStanding("out of range", "1,620.4", "1,880.8", 1.08, "USDC per WETH"),
    copied=("#7: WETH/USDC 0.05% · out of range", f"pool: 0x{'78' * 32}"),
)


def _pool(
    pool_id: str, pair: str, protocol: str, tier: int, price: float, *figures: float | None
) -> ListedPool:
    """Its depth, fees a day, a year's fees and what it pays; None where nobody read its swaps."""
    depth, daily, yearly, pays = (
        UNREAD if value is None else Known(value, "swaps") for value in figures
    )
    dynamic = tier == 0
    return ListedPool(
        pool_id=pool_id,
        protocol=protocol,
        pair=pair,
        currency0="0x" + "01" * 20,
        currency1="0x" + "02" * 20,
        symbol0=pair.partition("/")[0],
        symbol1=pair.partition("/")[2],
        fee=0x800000 if dynamic else tier,
        fee_tier=tier or 1_000,
        dynamic=dynamic,
        lp_fee=tier,
        protocol_fee=ProtocolFees(0, 0),
        tick_spacing=60,
        hooks="0x" + "03" * 20 if dynamic else NO_HOOK,
        hook_danger=Danger.CAUTION if dynamic else Danger.NONE,
        hook_sentences=(),
        tick=0,
        sqrt_price_x96=1 << 96,
        liquidity=10**18,
        price=price,
        price_unit=pair,
        depth_usd=depth.map(Fraction),
        fees_a_day_usd=daily,
        fees_a_year7d=yearly,
        edge7d=pays,
        volatility7d=yearly,
        verified=True,
    )


POOLS = (
    _pool("0x" + "a1" * 32, "WETH/USDC", "v4", 500, 1812.09, 48.1e6, 31_200, 0.091, 0.86),
    _pool("0x" + "b2" * 32, "WETH/USDC", "v4", 3_000, 1811.40, 9.7e6, 9_410, 0.217, 2.41),
    _pool("0x" + "c3" * 32, "WETH/HKD", "v4", 0, 14_101, 204_000, None, None, None),
    _pool("0x" + "d4" * 20, "USDC/USDT", "v3", 100, 0.99998, 22e6, 840, 0.014, 14.0),
)
RECORDS = (
    RecordRow("req_5b1f0c77a1d2e394", NOW - 600, "position #7", "move"),
    RecordRow("req_09aa77c1e4b25f60", NOW - 90_000, "position #9", "close"),
    RecordRow(
        "req_77c1e4b25f6009aa", NOW - 200_000, "a new position", "failed: the RPC did not answer"
    ),
)
REPLAYED = DebateView(
    "req_5b1f0c77a1d2e394",
    "position #7, again",
    (
        TurnView("scout", 0, "The market is ranging: 1.9%/day against 2.1% over the week."),
        TurnView("strategist", 1, "I propose three ranges: wider, tighter, and the same moved."),
        TurnView(
            "critic",
            1,
            "The tight one leaves within 9 h; its fees of $99 a day do not pay for that.",
            struck=(Struck(47, 50, "not the number given"),),
        ),
        TurnView("strategist", 2, "Then 1.47 times the width, as the floor asks."),
        TurnView("critic", 2, "Accepted: 26 h at today's volatility, break-even after 6 h."),
    ),
    "It ended in a plan to move. The replay matches its record, all 41 lines.",
)
SENT = (
    DispatchView(
        "plan_77aa00c1e4b25f61",
        1_768_248_000.0,
        "Move #9 to 1,702.10…2,014.33",
        "closed, both tokens in the wallet",
        (
            ("unsubscribe #9", "final", "0x" + "11" * 32),
            ("close #9", "final", "0x" + "22" * 32),
            ("sell, open", "reverted", "0x" + "33" * 32),
        ),
        (
            "#9 was closed and nothing was opened: you hold both tokens."
            " Make a new plan from here: recommend or create.",
        ),
        ("resolve",),
    ),
    DispatchView(
        "plan_5b1f0c77a1d2e394",
        1_768_161_600.0,
        "Collect the fees of #7",
        "final",
        (("collect", "final", "0x" + "44" * 32),),
        (),
        (),
    ),
)
SETTINGS = (
    SettingRow(
        "network",
        "Base",
        "settings.toml",
        "arbitrum, base, ethereum, optimism",
        ("arbitrum", "base", "ethereum", "optimism"),
        "base",
        means="the network the desk reads",
    ),
    SettingRow(
        "wallet",
        "main 0x5290…9EE7",
        "your wallets",
        "main, cold, or an address to look at",
        means="whose positions are meant",
    ),
    SettingRow("address", "none", "default", "an address", means="goes before the wallet"),
    SettingRow("unit", "usd", "default", "usd or eth", means="the unit that values are shown in"),
    SettingRow(
        "rpc.base",
        "https://node.example/v2/…, https://other.example",
        "settings.toml",
        "a URL or a list of URLs",
        typed="masked",
        means="the endpoints it is read from, comma-separated",
    ),
    SettingRow("model.provider", "OpenAI", "default", "openai, …", means="who is asked"),
    SettingRow("model.key", "set", "environment (OPENAI_API_KEY)", "keyring", typed="masked"),
    SettingRow(
        "debate.profile",
        "balanced",
        "environment (ZUNO_RISK_PROFILE)",
        "conservative, balanced or aggressive",
        ("conservative", "balanced", "aggressive"),
        "balanced",
        means="how much risk a plan may take",
    ),
    SettingRow(
        "limits.daily_usd",
        "no limit",
        "default",
        "a number above 0",
        means="the most you move in a day, in dollars",
    ),
    SettingRow(
        "telegram.token",
        "set",
        "settings.toml",
        "digits:letters",
        typed="unseen",
        means="the bot that sends alerts",
    ),
    SettingRow("screen.bell", "on", "default", "on or off", ("on", "off"), "on", later=True),
    SettingRow(
        "screen.theme",
        "what the terminal can show",
        "default",
        "a theme",
        ("zuno-dark", "zuno-light", "zuno-high-contrast"),
        means="the colours",
    ),
)
