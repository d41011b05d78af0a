"""The words that say what a number counts: parts, dollars, times in seconds."""

from __future__ import annotations

PERCENT = frozenset(("%", "percent", "percents"))
BIPS = frozenset(("bps", "bp", "bips", "basis"))
OTHER_MONEY = frozenset(("euros", "euro", "eur", "pounds", "gbp", "yen", "jpy", "chf", "francs"))
"""Money that nothing is counted in here."""
DOLLARS = frozenset(("dollars", "dollar", "bucks", "usd", *OTHER_MONEY))
TIMES = {
    **dict.fromkeys(("minute", "minutes", "min", "mins"), 60),
    **dict.fromkeys(("hour", "hours", "h", "hr", "hrs"), 3_600),
    **dict.fromkeys(("day", "days", "d"), 86_400),
    **dict.fromkeys(("week", "weeks", "w"), 604_800),
}
