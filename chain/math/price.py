"""Prices and amounts for people: oriented, unit named, significant digits, exact until printed."""

from enum import IntEnum

from msgspec import Struct

PRICE_DIGITS = 5
AMOUNT_DIGITS = 6

# Beyond these powers of ten a row of zeros reads worse than an exponent.
_SMALLEST_PLAIN = -9
_LARGEST_PLAIN = 14


class QuoteRank(IntEnum):
    """What people count in: dollars before the chain's coin, the coin before everything else."""

    ORDINARY = 0
    NATIVE = 1
    """The chain's own coin, wrapped or not."""
    STABLE = 2


class TokenUnit(Struct, frozen=True):
    """What one whole token is: its cleaned symbol and the units it divides into."""

    symbol: str
    decimals: int


class ExactPrice(Struct, frozen=True):
    """How much of `quote` one whole `base` costs, as an exact fraction."""

    numerator: int
    denominator: int
    base: str
    quote: str

    @property
    def value(self) -> float:
        """For charts and statistics; never for money."""
        return self.numerator / self.denominator

    def digits(self, significant: int = PRICE_DIGITS) -> str:
        """The figure alone, as `3,012.4`."""
        return _rounded(self.numerator, self.denominator, significant)

    def __str__(self) -> str:
        return f"{self.digits()} {self.quote} per {self.base}"


def pool_price(
    sqrt_price_x96: int, unit0: TokenUnit, unit1: TokenUnit, *, inverted: bool = False
) -> ExactPrice:
    """A pool's price in whole tokens: currency1 per currency0, or inverted the other way round."""
    numerator = sqrt_price_x96**2 * 10**unit0.decimals
    denominator = (1 << 192) * 10**unit1.decimals
    if inverted:
        return ExactPrice(denominator, numerator, base=unit1.symbol, quote=unit0.symbol)
    return ExactPrice(numerator, denominator, base=unit0.symbol, quote=unit1.symbol)


def reads_inverted(price: ExactPrice, standing0: QuoteRank, standing1: QuoteRank) -> bool:
    """Whether people would rather read this price of currency0 as a price of currency1.

    A stable is always the quote. Otherwise the more valuable token is the base, so that figures
    are above one; between tokens of nearly one value the order must not flip with every trade,
    so there the better-known one is the quote.
    """
    if (standing0 == QuoteRank.STABLE) != (standing1 == QuoteRank.STABLE):
        return standing0 == QuoteRank.STABLE
    if standing0 == QuoteRank.STABLE:
        return False
    near_parity = price.denominator < 2 * price.numerator < 4 * price.denominator
    return standing0 > standing1 if near_parity else price.numerator < price.denominator


def format_amount(units: int, decimals: int, significant: int = AMOUNT_DIGITS) -> str:
    """An amount in whole tokens; cut, never rounded up to more than there is."""
    if units == 0:
        return "0"
    sign = "−" if units < 0 else ""
    return sign + _cut(abs(units), 10**decimals, significant)


def _rounded(numerator: int, denominator: int, significant: int) -> str:
    power = _power_of_ten(numerator, denominator)
    scaled = _scaled(numerator, denominator, significant - 1 - power, half_up=True)
    if scaled >= 10**significant:
        power += 1
        scaled = _scaled(numerator, denominator, significant - 1 - power, half_up=True)
    if not _SMALLEST_PLAIN <= power <= _LARGEST_PLAIN:
        return f"{_point(scaled, significant - 1)}e{power}"
    places = significant - 1 - power
    if places < 0:
        return f"{_scaled(numerator, denominator, 0, half_up=True):,}"
    return _point(scaled, places)


def _cut(numerator: int, denominator: int, significant: int) -> str:
    power = _power_of_ten(numerator, denominator)
    exponent = power < _SMALLEST_PLAIN
    places = max(0, significant - 1 - power)
    scaled = _scaled(numerator, denominator, places, half_up=False)
    text = _point(scaled, significant - 1 if exponent else places)
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text}e{power}" if exponent else text


def _power_of_ten(numerator: int, denominator: int) -> int:
    """The power of the first digit of a positive fraction."""
    power = len(str(numerator)) - len(str(denominator))
    reaches = numerator * 10 ** max(0, -power) >= denominator * 10 ** max(0, power)
    return power if reaches else power - 1


def _scaled(numerator: int, denominator: int, places: int, *, half_up: bool) -> int:
    """The fraction times ten to the `places`, as a whole number."""
    numerator *= 10 ** max(0, places)
    denominator *= 10 ** max(0, -places)
    return (
        (2 * numerator + denominator) // (2 * denominator) if half_up else numerator // denominator
    )


def _point(scaled: int, places: int) -> str:
    """A whole number with a decimal point put back and thousands grouped."""
    whole, fraction = divmod(scaled, 10**places)
    return f"{whole:,}.{fraction:0{places}d}" if places else f"{whole:,}"
