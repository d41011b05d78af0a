"""The limits a person sets on what may be signed: `[limits]` in settings.toml."""

from fractions import Fraction
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import COIN, DAY, GWEI, MICRO
from chain.contracts.networks import Address, Network
from chain.execution.outbox.lookup import DOUBT_BLOCKS, LEAST_DOUBT_SECONDS
from chain.execution.plan.context import PolicyLimits
from zuno_tui.settings.schema import LimitsTable

_VALUE_USD = 250_000
Transactions = Literal["auto", "one", "steps", "safe"]
LONGEST_SAFE_SECONDS = 7 * DAY


class GateLimits(Struct, frozen=True):
    policy: PolicyLimits
    """What holds while nobody knows what a coin is worth."""
    value_usd: float
    """Dollars of the network's own coin that one step may send along."""
    value_coins: int | None
    """The same in the coin's smallest unit, where that was chosen."""
    allowed_hooks: frozenset[Address]
    doubt_seconds: float
    """How long a transaction's loss must be seen before it is believed."""
    transactions: Transactions = "auto"
    """Whether a plan of several steps is sent as one transaction where the account can; a Safe's
    is always one, which its owners sign."""

    def at_price(self, usd_per_wei: float | None) -> PolicyLimits:
        """The limits with the coins that are worth `value_usd` now."""
        value = self.policy.value
        if usd_per_wei is not None and usd_per_wei > 0:
            value = int(Fraction(self.value_usd) / Fraction(usd_per_wei))
        if self.value_coins is not None:
            value = min(value, self.value_coins)
        return replace(self.policy, value=value)


def safe_limits(limits: GateLimits, seconds: int = LONGEST_SAFE_SECONDS) -> GateLimits:
    """The same with time for several people: nothing but its length is looser."""
    policy = replace(limits.policy, deadline_seconds=seconds, expiry_seconds=seconds)
    return replace(limits, policy=policy, transactions="safe")


def gate_limits(table: LimitsTable, network: Network) -> GateLimits:
    """What the table says, and what suits the network where it says nothing."""
    fee, daily = table.max_fee_gwei, table.daily_usd
    return GateLimits(
        PolicyLimits(
            max_fee_per_gas=network.max_fee_per_gas if fee is None else int(fee * GWEI),
            value=network.value_without_price * COIN,
            daily_notional=None if daily is None else int(daily * MICRO),
        ),
        table.value_usd or _VALUE_USD,
        None if table.value_eth is None else int(Fraction(table.value_eth) * COIN),
        frozenset(hook.strip().lower() for hook in table.allowed_hooks),
        # An endpoint's receipts may be some blocks behind its head.
        table.doubt_seconds or max(LEAST_DOUBT_SECONDS, DOUBT_BLOCKS * network.block_seconds),
        table.transactions or "auto",
    )
