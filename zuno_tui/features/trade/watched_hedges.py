"""Hedges as the monitor asks for them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from agents.monitor.rules.risks import HeldHedge

if TYPE_CHECKING:
    from chain.base.home import Home
    from chain.contracts.networks import Network
    from zuno_tui.settings import Settings


class HomeHedges:
    """Reads the journal of trades and asks the venue about orders that may still be filled.

    A home that never hedged is not asked for anything, and nothing of trading is loaded.
    """

    def __init__(self, home: Home, settings: Settings, network: Network) -> None:
        self._home = home
        self._settings = settings
        self._network = network

    async def held_hedges(self) -> dict[int, HeldHedge] | None:
        """By position; None where the venue or the journal cannot be read now."""
        if not self._home.trades.exists():
            return {}
        from zuno_tui.app.session import Session
        from zuno_tui.features.trade.hedges import read_hedges, standing_short
        from zuno_tui.features.trade.venue import (
            CLOSED_TO_LOOKERS,
            VenueUnreadError,
            has_hedges,
            open_venue,
        )

        session = Session(self._home, self._settings, self._network, as_json=True)
        with suppress(VenueUnreadError, *CLOSED_TO_LOOKERS):
            if not has_hedges(self._home):
                return {}
            async with open_venue(session) as opened:
                found = await read_hedges(opened.journal, opened.venue)
            return {
                key.token_id: HeldHedge(
                    one.first.wallet,
                    one.first.coin,
                    one.first.token,
                    one.last.ratio,
                    standing_short(one),
                )
                for key, one in found.items()
                if key.chain_id == self._network.chain_id
            }
        return None
