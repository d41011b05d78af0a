"""Several wallets on several networks as values, for the screen and the command line to tell."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from agents.monitor.alerts.alert import Alert
    from chain.contracts.networks import Address, Network
    from chain.positions.wallet_worth import WalletWorth
    from chain.prices.price import WorthUnit
    from zuno_tui.app.hedge_results import HedgeResults


class PortfolioEntry(Struct, frozen=True):
    """One wallet on one network."""

    network: Network
    wallet: Address
    label: str
    """What the person calls the wallet; empty where it has no name."""
    worth: WalletWorth | None
    """None where the network could not be read."""
    trouble: str = ""
    """Why it could not be read, or what of it is missing."""
    hedges: HedgeResults | None = None
    """What its positions and their hedges came to; None where nobody looked."""

    @property
    def whole(self) -> bool:
        return self.worth is not None and not self.trouble


class WholePortfolio(Struct, frozen=True):
    unit: WorthUnit
    entries: tuple[PortfolioEntry, ...]
    alerts: tuple[Alert, ...]
    """Those that stand for any of these wallets, what is worst first."""

    @property
    def total(self) -> Fraction:
        """Of what could be read and priced."""
        return sum((one.worth.total for one in self.entries if one.worth), Fraction(0))

    @property
    def whole(self) -> bool:
        """Whether every network could be read, every position found and every token priced."""
        return all(one.whole and one.worth and not one.worth.unpriced for one in self.entries)

    @property
    def wallets(self) -> int:
        return len({one.wallet for one in self.entries})

    @property
    def networks(self) -> int:
        return len({one.network.chain_id for one in self.entries})
