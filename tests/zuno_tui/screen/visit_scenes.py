"""What the desk tells of one position, of pools, records and what was sent."""

from __future__ import annotations

import math

from chain.protocols.reference import v4_position
from tests.zuno_tui.screen.scenes import NOW
from zuno_tui.present.position import DetailView, KeyFigure, RangeStanding
from zuno_tui.present.views import (
    ChartView,
    DebateView,
    DispatchView,
    PoolRow,
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
        KeyFigure("worth", "$18,154.51"),
        KeyFigure("to collect", "$12.40"),
        KeyFigure("fee APR 24 h", "18.1%"),
        KeyFigure("vs holding", "+$41.20", "good"),
    ),
    standing=RangeStanding("out of range", "1,620.4", "1,880.8", 1.08, "USDC per WETH"),
    copied=("#7: WETH/USDC 0.05% · out of range", f"pool: 0x{'78' * 32}"),
)
POOLS = (
    PoolRow(
        "0x" + "a1" * 32,
        "WETH/USDC",
        "v4",
        "0.05%",
        "1,812.09",
        "$48.1 M",
        "9.1% a year",
        "0.86 × risk",
        "",
        "create 1 WETH/USDC 0.05%",
    ),
    PoolRow(
        "0x" + "b2" * 32,
        "WETH/USDC",
        "v4",
        "0.3%",
        "1,811.40",
        "$9.7 M",
        "21.7% a year",
        "2.41 × risk",
        "",
        "create 1 WETH/USDC 0.3%",
    ),
    PoolRow(
        "0x" + "c3" * 32,
        "WETH/HKD",
        "v4",
        "dynamic",
        "14,101",
        "$204 k",
        "–",
        "–",
        "can refuse exits",
        "create 1 WETH/HKD",
    ),
    PoolRow(
        "0x" + "d4" * 20,
        "USDC/USDT",
        "v3",
        "0.01%",
        "0.99998",
        "$22.0 M",
        "1.4% a year",
        "> 10 × risk",
        "",
        "create 1 USDC/USDT",
    ),
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
            ("dismiss the subscriber of #9", "final", "0x" + "11" * 32),
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
        means="the most that is moved in a day, in dollars",
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
