"""Numbers as people read them: dollars, percents, fees, and `unknown` in words."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING

from chain.base.units import Quantity, Unknown
from chain.math.price import format_amount
from chain.prices.price import WorthUnit

if TYPE_CHECKING:
    from chain.tokens import Token


UNKNOWN = "unknown"
NOBODY = "nobody: nothing leaves the wallet"
"""Where the bytes name no recipient."""
_SMALL_ETHER_PLACES = 6
_JSON_PLACES = 8
_DIGITS = 4
_COIN_DECIMALS = 18
_MOST_PLACES = 8
_SMALLEST_PLACES = 18
_CENT = Fraction(1, 100)
_HALF_CENT = 0.005
_THOUSANDS_FROM = 10_000


def amount_of(units: int, token: Token) -> str:
    """An amount without its symbol, as `1.25`; raw units where decimals are unknown."""
    if token.decimals is None:
        return f"{units} raw"
    return format_amount(units, token.decimals)


def short_amount(units: int, token: Token) -> str:
    """As `amount_of`, with at most four significant decimals, for a column."""
    if token.decimals is None:
        return f"{units} raw"
    return four_digits(units / 10**token.decimals)


def most_coin(wei: int) -> str:
    """A bound in the network's coin: rounded up, so that it holds as it is read."""
    step = 10 ** max(0, len(str(wei)) - _DIGITS)
    return format_amount(-(-wei // step) * step, _COIN_DECIMALS, _DIGITS)


def four_digits(size: float) -> str:
    """`2,910`, `1.546`, `0.00004053`: as people write it, without an exponent."""
    if size >= 1_000:
        return f"{size:,.0f}"
    if not size:
        return "0"
    places = _DIGITS - 1 - math.floor(math.log10(size))
    text = f"{size:.{min(_SMALLEST_PLACES, places)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def short_interval(low: float, high: float) -> str:
    """Dollars from one end to the other, as `$3.3 to 12`, `−$278 to −163` or `−$2.1 to 48`."""
    ends = [f"{'−' * (end < 0)}{_short_figure(end)}" for end in (low, high)]
    return f"{'−' * (low < 0)}${ends[0].removeprefix('−')} to {ends[1]}"


def _short_figure(value: float) -> str:
    size = abs(value)
    if size >= _THOUSANDS_FROM:
        return f"{size / 1_000:,.0f}k"
    if size >= 10:
        return f"{size:.0f}"
    return f"{size:.1f}" if size >= 1 else f"{size:.2f}"


def round_usd(value: float) -> str:
    """Dollars as one says them: `$16`, `$4.10`, `<$0.01`."""
    sign, size = "−" if value < 0 else "", abs(value)
    if 0 < size < _CENT:
        return f"{sign}<$0.01"
    return f"{sign}${size:,.0f}" if size >= 10 else f"{sign}${size:,.2f}"


def cent_sum(*parts: float) -> float:
    """In dollars, of parts as they are shown, in cents: readers add up what they see."""
    return sum(round(part, 2) for part in parts) or sum(parts)


def signed_amount(units: int, token: Token) -> str:
    """What came or left, as `+1.25` or `−1.25`."""
    sign = "−" if units < 0 else "+" if units else ""
    return sign + amount_of(abs(units), token)


def worth(value: Quantity[Fraction], unit: WorthUnit) -> str:
    """A value in the unit a person counts in, as `$1,204.50` or `0.4013 ETH`."""
    if isinstance(value, Unknown):
        return UNKNOWN
    return money(value.value, unit)


def money(value: Fraction, unit: WorthUnit) -> str:
    sign = "−" if value < 0 else ""
    size = abs(value)
    if unit is WorthUnit.ETH:
        places = 4 if size >= 1 else _SMALL_ETHER_PLACES
        return f"{sign}{_fixed(size, places)} ETH"
    # Below a cent two decimals would call something nothing.
    places = 2 if size >= _CENT or size == 0 else 6
    return f"{sign}${_fixed(size, places)}"


def unit_name(unit: WorthUnit) -> str:
    """For a head; dollars have a sign of their own."""
    return "" if unit is WorthUnit.USD else unit.value.upper()


def money_figure(value: Fraction, unit: WorthUnit) -> str:
    """Dollars to the cent; another coin in four digits, its name in the head."""
    if unit is WorthUnit.USD:
        return money(value, unit)
    size = abs(float(value))
    before_point = math.floor(math.log10(size)) + 1 if size else _DIGITS
    text = f"{size:,.{min(_MOST_PLACES, max(0, _DIGITS - before_point))}f}"
    return f"−{text}" if value < 0 else text


def figure_cell(value: Quantity[Fraction], unit: WorthUnit) -> str:
    """For a column whose head names the unit."""
    return UNKNOWN if isinstance(value, Unknown) else money_figure(value.value, unit)


def short_worth(value: Quantity[Fraction], unit: WorthUnit) -> str:
    """As `worth`, another coin than dollars in four digits."""
    if isinstance(value, Unknown) or unit is WorthUnit.USD:
        return worth(value, unit)
    return f"{money_figure(value.value, unit)} {unit_name(unit)}"


def gain_figure(value: Quantity[Fraction], unit: WorthUnit) -> str:
    """The same of a gain or a loss; nothing has no sign."""
    if isinstance(value, Unknown) or unit is WorthUnit.USD:
        return short_gain(value, unit)
    text = money_figure(value.value, unit)
    return text if value.value <= 0 else f"+{text}"


def signed_money(value: Quantity[Fraction], unit: WorthUnit) -> str:
    """A gain or a loss, its sign always shown."""
    if isinstance(value, Unknown):
        return UNKNOWN
    text = money(value.value, unit)
    return text if value.value < 0 else f"+{text}"


def dollar_gain(dollars: float | None) -> str:
    """A gain or a loss on a venue, its sign always shown."""
    if dollars is None:
        return UNKNOWN
    sign = "−" if dollars <= -_HALF_CENT else "+"
    return f"{sign}${abs(dollars):,.2f}"


def short_gain(value: Quantity[Fraction], unit: WorthUnit) -> str:
    """As `signed_money`, for a column: parts of a cent would push others off the pane."""
    if unit is WorthUnit.USD and not isinstance(value, Unknown) and abs(value.value) < _CENT:
        return "$0.00"
    return signed_money(value, unit)


_CHOICES = {"HOLD": "Keep", "EXIT": "Close"}


def screen_words(text: str) -> str:
    """What the agents call hold and exit, as the screen does: keep and close; one percent sign."""
    named = re.sub(r"\b(HOLD|EXIT)\b", lambda found: _CHOICES[found[0]], text)
    named = re.sub(r"1× buffer of ([^()]*) \(model 95 ?%\)", r"buffer of \1", named)
    return re.sub(r"(?<=\d) %", "%", named)


def fee_text(pips: int) -> str:
    """A fee as pools quote it: `0.05%`."""
    return f"{_fixed(Fraction(pips, 10_000), 4).rstrip('0').rstrip('.')}%"


def percent(part: Fraction | float) -> str:
    size = float(part) * 100
    if 0 < size < 0.01:
        return "<0.01%"
    return f"{size:.3g}%" if size < 100 else f"{size:.0f}%"


def yearly_percent(part: float) -> str:
    """A rate of return, to a tenth wherever it stands: `8.7%`, `1,240.0%`."""
    return f"{100 * part:,.1f}%"


def number(value: Quantity[Fraction]) -> float | None:
    """A value for programs; None where it is unknown."""
    return None if isinstance(value, Unknown) else round(float(value.value), _JSON_PLACES)


def units(value: Quantity[int]) -> str | None:
    """Smallest units for programs, as text because they may pass 2^53."""
    return None if isinstance(value, Unknown) else str(value.value)


def _fixed(value: Fraction, places: int) -> str:
    """A positive fraction with so many decimals, rounded half up, exactly."""
    scaled = (value * 10**places * 2 + 1) // 2
    whole, rest = divmod(scaled, 10**places)
    return f"{whole:,}.{rest:0{places}d}"


def subscription_words(trouble: str | None) -> str:
    """Whether new blocks are announced over a WebSocket, or why they are not."""
    if trouble is None:
        return "New blocks are pushed: every one is checked."
    return f"{trouble} Polling goes on, and the subscription is tried again."


_READ_AS = {"risk_manager": "risk officer", "vlm_geometry": "geometry"}


def role_title(role: str) -> str:
    """As people read it; on the wire and in records a role keeps its name."""
    return _READ_AS.get(role, role.replace("_", " "))
