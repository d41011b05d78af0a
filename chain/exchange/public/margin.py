"""What an account bears: every position of a venue, all of them moving against one at once."""

from collections.abc import Iterable
from math import inf
from typing import NamedTuple

MAINTENANCE = 0.005
"""Of what is held, the margin a venue wants at least; larger positions need more."""
_DUST = 1e-9


class MarkedPosition(NamedTuple):
    quantity: float
    """Above 0 long, below 0 short."""
    mark: float
    liquidation: float | None = None
    """The price at which the venue says it closes it."""


class AccountRisk(NamedTuple):
    leverage: float
    """All that is held, long and short alike, over the account."""
    to_liquidation: float
    """The share by which every price may move against it before the venue closes something."""


def account_risk(equity: float | None, held: Iterable[MarkedPosition]) -> AccountRisk | None:
    """None where nothing is held, or the account is not known or empty.

    Shorts that rise by x need margin on 1 + x of their worth, longs that fall on 1 − x of it. Where
    the venue itself says an earlier price, with all others standing still, that counts.
    """
    positions = [position for position in held if abs(position.quantity) > _DUST]
    worths = [position.quantity * position.mark for position in positions]
    gross = sum(map(abs, worths))
    if equity is None or equity <= 0 or gross <= 0:
        return None
    shorts = -sum(worth for worth in worths if worth < 0)
    net_short = 2 * shorts - gross
    move = (equity - MAINTENANCE * gross) / (gross + MAINTENANCE * net_short)
    told = min((_told(position) for position in positions), default=inf)
    return AccountRisk(gross / equity, min(move, told))


def _told(position: MarkedPosition) -> float:
    if not position.liquidation:
        return inf
    move = position.liquidation / position.mark - 1
    return move if position.quantity < 0 else -move


def is_out_of_band(short: float, wanted: float, band: float) -> bool:
    """Whether a hedge is off by more than its band, a share of what it should be.

    Plan, replay and alert adjust and tell by this alone.
    """
    return abs(short - wanted) > wanted * band + _DUST
