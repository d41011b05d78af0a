"""The fuse: what models may use per debate and per day, asked before every call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from agents.model.interface import ModelUnavailable, Unavailability, Usage
from chain.base.store import StoreError

if TYPE_CHECKING:
    from agents.bus.envelope import Role

NAMESPACE = "model_budget"
NANO = 1_000_000_000
_TOKENS_PER_MESSAGE = 16


class Memory(Protocol):
    """What keeps the day's count between runs; `chain.base.store.Store` is one."""

    def get(self, namespace: str, key: str) -> object | None: ...

    def change(
        self, namespace: str, key: str, made: Callable[[object | None], object], *, now: float
    ) -> None: ...


class TokenRate(Struct, frozen=True):
    """Billionths of a dollar for one token."""

    tokens_in: int
    tokens_out: int

    @classmethod
    def per_million(cls, usd_in: Decimal, usd_out: Decimal) -> TokenRate:
        """From dollars for a million tokens, as price lists have it; fractions are rounded up."""
        return cls(_nano_per_token(usd_in), _nano_per_token(usd_out))

    def of(self, tokens_in: int, tokens_out: int) -> int:
        return self.tokens_in * tokens_in + self.tokens_out * tokens_out


class BudgetLimits(Struct, frozen=True):
    """None leaves that side open; dollars bind only models whose price is known."""

    debate_tokens: int | None = 60_000
    day_tokens: int | None = 1_000_000
    debate_nano_usd: int | None = None
    day_nano_usd: int | None = None


class Spent(Struct, frozen=True):
    tokens: int = 0
    nano_usd: int = 0
    unpriced_tokens: int = 0
    """Those of the tokens whose price nobody gave: the dollars do not count them."""

    def plus(self, other: Spent) -> Spent:
        return Spent(
            self.tokens + other.tokens,
            self.nano_usd + other.nano_usd,
            self.unpriced_tokens + other.unpriced_tokens,
        )

    def minus(self, other: Spent) -> Spent:
        return Spent(
            max(0, self.tokens - other.tokens),
            max(0, self.nano_usd - other.nano_usd),
            max(0, self.unpriced_tokens - other.unpriced_tokens),
        )


class BudgetReport(Struct, frozen=True):
    """What one debate and its day have used, calls under way counted in full."""

    debate: Spent
    by_role: Mapping[str, Spent]
    day: Spent | None
    """None where what was kept of it cannot be read."""
    limits: BudgetLimits


def estimated_tokens(*texts: str) -> int:
    """More tokens than these texts have: figures take one for two letters, other scripts more."""
    total = 0
    for text in texts:
        size = len(text.encode("utf-8", "replace"))
        wide = size - sum(character < "\x80" for character in text)
        total += _TOKENS_PER_MESSAGE + wide + -(-(size - wide) // 2)
    return total


class Budget:
    """The limits, the prices and the day's count, shared by all debates."""

    def __init__(
        self,
        limits: BudgetLimits,
        prices: Mapping[str, TokenRate],
        memory: Memory,
        *,
        clock: Callable[[], float],
    ) -> None:
        self.limits = limits
        self._prices = prices
        self._memory = memory
        self._clock = clock

    def debate(self) -> DebateBudget:
        """A count of its own for one debate."""
        return DebateBudget(self)

    def today(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).date().isoformat()

    def day(self, day: str) -> dict[str, Spent]:
        """What each role has used on that day."""
        return _days_count(self._memory.get(NAMESPACE, day))

    def cost(self, model: str, tokens_in: int, tokens_out: int) -> Spent:
        price = self._prices.get(model)
        tokens = tokens_in + tokens_out
        if price is None:
            return Spent(tokens, 0, tokens)
        return Spent(tokens, price.of(tokens_in, tokens_out))

    def reserve(self, day: str, role: Role, wanted: Spent) -> None:
        """Count a call before it is made, or ModelUnavailable where the day's limits forbid it."""
        limits = self.limits

        def made(stored: object | None) -> object:
            roles = _days_count(stored)
            _within("day", _total(roles), wanted, limits.day_tokens, limits.day_nano_usd)
            return _with(roles, role, wanted, Spent())

        self._change(day, made)

    def adjust(self, day: str, role: Role, add: Spent, take: Spent) -> None:
        self._change(day, lambda stored: _with(_days_count(stored), role, add, take))

    def _change(self, day: str, made: Callable[[object | None], object]) -> None:
        # One transaction: what another process counts meanwhile is neither lost nor overlooked.
        try:
            self._memory.change(NAMESPACE, day, made, now=self._clock())
        except StoreError as error:
            raise ModelUnavailable(Unavailability.OVER_BUDGET, str(error)) from None


class Reservation(Struct):
    """Tokens set aside for one call; kept in full unless somebody says what it really took."""

    budget: DebateBudget
    role: Role
    model: str
    day: str
    held: Spent

    def settle(self, usage: Usage) -> None:
        self._replace(self.budget.shared.cost(self.model, usage.tokens_in, usage.tokens_out))

    def release(self) -> None:
        """The call took nothing."""
        self._replace(Spent())

    def _replace(self, real: Spent) -> None:
        self.budget.adjust(self, real)
        self.held = real


class DebateBudget:
    def __init__(self, shared: Budget) -> None:
        self.shared = shared
        self._by_role: defaultdict[str, Spent] = defaultdict(Spent)

    def reserve(self, role: Role, model: str, tokens_in: int, tokens_out: int) -> Reservation:
        """Set tokens aside for a call, or ModelUnavailable where a limit would be passed."""
        wanted = self.shared.cost(model, tokens_in, tokens_out)
        day = self.shared.today()
        limits = self.shared.limits
        _within("debate", self._debate(), wanted, limits.debate_tokens, limits.debate_nano_usd)
        # Counted before the call: a crash in the middle must not make it free.
        self.shared.reserve(day, role, wanted)
        self._by_role[role] = self._by_role[role].plus(wanted)
        return Reservation(self, role, model, day, wanted)

    def adjust(self, reservation: Reservation, real: Spent) -> None:
        role, held = reservation.role, reservation.held
        self._by_role[role] = self._by_role[role].plus(real).minus(held)
        self.shared.adjust(reservation.day, role, real, held)

    def report(self) -> BudgetReport:
        try:
            day = self._day(self.shared.today())
        except ModelUnavailable:
            day = None
        return BudgetReport(self._debate(), dict(self._by_role), day, self.shared.limits)

    def _debate(self) -> Spent:
        return _total(self._by_role)

    def _day(self, day: str) -> Spent:
        return _total(self.shared.day(day))


def _within(
    span: str, spent: Spent, wanted: Spent, tokens: int | None, nano_usd: int | None
) -> None:
    after = spent.plus(wanted)
    if tokens is not None and after.tokens > tokens:
        raise ModelUnavailable(
            Unavailability.OVER_BUDGET,
            f"The next question may take {wanted.tokens:,} tokens; of the {tokens:,} for this"
            f" {span}, {spent.tokens:,} are used.",
        )
    if nano_usd is not None and wanted.nano_usd and after.nano_usd > nano_usd:
        raise ModelUnavailable(
            Unavailability.OVER_BUDGET,
            f"The next question may cost {_dollars(wanted.nano_usd)}; of the"
            f" {_dollars(nano_usd)} for this {span}, {_dollars(spent.nano_usd)} are spent.",
        )


def _total(by_role: Mapping[str, Spent]) -> Spent:
    total = Spent()
    for spent in by_role.values():
        total = total.plus(spent)
    return total


def _with(roles: Mapping[str, Spent], role: Role, add: Spent, take: Spent) -> object:
    after = {**roles, role: roles.get(role, Spent()).plus(add).minus(take)}
    return {
        name: [spent.tokens, spent.nano_usd, spent.unpriced_tokens] for name, spent in after.items()
    }


def _days_count(stored: object) -> dict[str, Spent]:
    if stored is None:
        return {}
    counts: dict[str, Spent] = {}
    for role, numbers in stored.items() if isinstance(stored, dict) else ():
        match numbers:
            case [int(tokens), int(nano_usd), int(unpriced)] if min(numbers) >= 0:
                counts[str(role)] = Spent(tokens, nano_usd, unpriced)
    if not isinstance(stored, dict) or len(counts) != len(stored):
        # Not knowing what was spent is no licence to spend.
        raise ModelUnavailable(
            Unavailability.OVER_BUDGET, "What models used today cannot be read from zuno.db."
        )
    return counts


def _nano_per_token(usd_per_million: Decimal) -> int:
    return int((usd_per_million * NANO / 1_000_000).to_integral_value(ROUND_CEILING))


def _dollars(nano_usd: int) -> str:
    return f"${Decimal(nano_usd) / NANO:.4f}"
