"""What stands on the desk while something is typed: what `it` can mean, what can be named."""

import re
from collections.abc import Iterable
from fractions import Fraction

from msgspec import Struct

from chain.protocols.reference import PositionRef, position_label
from zuno_tui.present.views import PositionRow

_SHOWN_NUMBER = re.compile(
    r"(?P<sign>[+-]?)<?[^0-9.]?(?P<digits>[0-9]+(?:\.[0-9]+)?)(?P<scale>[kM]?)(?: [A-Z]+)?"
)
_SCALES = {"": 1, "k": 1_000, "M": 1_000_000}


class SpokenPosition(Struct, frozen=True):
    """What a position can be called by, besides its number."""

    ref: PositionRef
    pair: str
    """Its symbols, like WETH/USDC."""
    fee: str = ""
    standing: str = ""
    # As shown: only what is typed needs the numbers, and many positions are read often.
    worth_shown: Fraction | str = ""
    fees_shown: Fraction | str = ""
    result_shown: Fraction | str = ""
    price_shown: Fraction | str = ""

    @property
    def worth(self) -> Fraction | None:
        return _figure(self.worth_shown)

    @property
    def fees(self) -> Fraction | None:
        return _figure(self.fees_shown)

    @property
    def result(self) -> Fraction | None:
        """Against holding."""
        return _figure(self.result_shown)

    @property
    def price(self) -> Fraction | None:
        """Of its pool, as its range is written."""
        return _figure(self.price_shown)

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(symbol.upper() for symbol in self.pair.split("/"))

    @property
    def words(self) -> str:
        return " ".join(
            filter(None, (position_label(self.ref), self.pair, self.fee, self.standing))
        )


class PhraseContext(Struct, frozen=True):
    positions: tuple[PositionRef, ...] = ()
    held: tuple[SpokenPosition, ...] | None = None
    """The same positions by pair and state; None while nobody has read them."""
    alerts_of: tuple[tuple[str, PositionRef], ...] | None = None
    """Alerts with the positions they are about; None while nobody has read them."""
    selected: PositionRef | None = None
    """The position under the cursor."""
    plan_id: str | None = None
    plan_position: PositionRef | None = None
    candidates: tuple[str, ...] = ()
    """What `approve` takes of the plan on the card, the recommended one first."""
    argued: bool = False
    """Whether agents argued for the plan on the card, and so left several moves."""
    approved: bool = False
    applied: bool = False
    """Whether the plan on the card came to its end."""
    alerts: tuple[str, ...] = ()
    selected_alert: str | None = None
    records: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    """The plans in the outbox."""
    network: str = ""
    has_market: bool = False
    """Whether this is the embedded chain, whose clock can be stopped."""
    market_paused: bool = False
    cancellable: bool = False
    """Whether work is under way that can be ended."""

    @property
    def it(self) -> PositionRef | None:
        """The position that `it` means."""
        if self.selected is not None:
            return self.selected
        if self.plan_position is not None:
            return self.plan_position
        return self.positions[0] if len(self.positions) == 1 else None


def held_positions(rows: Iterable[PositionRow]) -> tuple[SpokenPosition, ...]:
    return tuple(
        SpokenPosition(
            row.ref,
            row.pair,
            row.fee,
            row.standing,
            row.value,
            row.fees,
            row.against_holding,
            row.price,
        )
        for row in rows
    )


def _figure(shown: Fraction | str) -> Fraction | None:
    """The number a row shows, good enough to say which of two is more; None where it shows none."""
    if isinstance(shown, Fraction):
        return shown
    found = _SHOWN_NUMBER.fullmatch(shown.replace("−", "-").replace(",", ""))
    if found is None:
        return None
    return Fraction(f"{found['sign']}{found['digits']}") * _SCALES[found["scale"]]
