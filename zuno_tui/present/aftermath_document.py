"""Where the tokens of a plan are now, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zuno_tui.gate.aftermath import Aftermath
    from zuno_tui.present.output import Json


def aftermath_document(aftermath: Aftermath | None) -> Json:
    if aftermath is None:
        return None
    return {
        "block": aftermath.block,
        "positions": [
            {
                "tokenId": str(one.token_id),
                "owner": one.owner,
                "liquidity": str(one.liquidity),
            }
            for one in aftermath.positions
        ],
        "balances": {
            one.token: {"now": _units(one.now), "before": _units(one.before)}
            for one in aftermath.holdings
        },
    }


def _units(amount: int | None) -> str | None:
    return None if amount is None else str(amount)
