"""What a position pays out and does not arrive: kept by the pool's hook, or by a token on its way.

A hook may keep as much as the minimums in the calldata leave it, and a token as much as it likes:
leaving is never forbidden for it, but it is said.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from chain.base.units import MICRO
from chain.contracts.hooks import hook_passport
from chain.contracts.networks import Address
from chain.execution.plan.effects import Provision, Withdrawal
from chain.execution.plan.facts import PositionFacts
from chain.execution.plan.names import Names
from chain.execution.plan.records import DecodedStep
from chain.execution.protocols import effects_of
from chain.execution.simulate import Simulation
from chain.math.drift import Span
from chain.protocols.reference import PositionRef

_SLACK, _UNITS = 10, 2
"""Millionths and units by which a fixed share of another amount may come out differently."""


class ExitTax(Struct, frozen=True):
    token: Address
    owed: int
    """What the position pays out at the price of the simulation, fees included."""
    arrived: int
    by_hook: bool

    @property
    def millionths(self) -> int:
        """The share of what is owed that is kept, rounded up."""
        return -(-(self.owed - self.arrived) * MICRO // self.owed)

    def exceeds(self, told: int) -> bool:
        """Whether more is kept than the share that was told, by more than rounding explains."""
        return self.owed - self.arrived > self.owed * (told + _SLACK) // MICRO + _UNITS

    def words(self, names: Names) -> str:
        who = "The pool's hook" if self.by_hook else f"The token {names.currency(self.token)}"
        kept = names.amount(self.owed - self.arrived, self.token)
        share = 100 * (self.owed - self.arrived) / self.owed
        return f"{who} keeps {kept} of what comes out, {share:.2f}% of it."


def shortfall_words(
    steps: Sequence[DecodedStep],
    simulation: Simulation,
    positions: Mapping[PositionRef, PositionFacts],
    names: Names,
    *,
    agreed: bool = False,
) -> tuple[str, ...]:
    """A sentence for everything that does not arrive, and for every token that says otherwise.

    Where no second endpoint told the same, it is not said of a listed token.
    """
    return (
        *(
            missing.words(names)
            if agreed or missing.by_hook or not names.token(missing.token).verified
            else f"By one endpoint's trial, {missing.words(names)[0].lower()}"
            f"{missing.words(names)[1:]} No other endpoint confirms it."
            for missing in kept_back(steps, simulation, positions)
        ),
        *(
            f"The token {names.currency(token)} reports transfers that it does not make: "
            "the amounts here are measured by what the wallet would hold."
            for token in untold_tokens(simulation, names, agreed=agreed)
        ),
    )


def untold_tokens(simulation: Simulation, names: Names, *, agreed: bool) -> tuple[Address, ...]:
    """Tokens whose events differ from what is held; a listed one by two endpoints' word alone."""
    return tuple(
        token
        for token in dict.fromkeys(token for step in simulation.steps for token in step.untold)
        if agreed or not names.token(token).verified
    )


def kept_back(
    steps: Sequence[DecodedStep],
    simulation: Simulation,
    positions: Mapping[PositionRef, PositionFacts],
) -> tuple[ExitTax, ...]:
    """What is missing from each exit that was simulated whole."""
    if not simulation.whole:
        return ()
    return tuple(
        missing
        for step, outcome in zip(steps, simulation.steps, strict=True)
        if outcome.success
        for missing in _missing(step, outcome.changes, positions)
    )


def _missing(
    step: DecodedStep,
    changes: Mapping[Address, int],
    positions: Mapping[PositionRef, PositionFacts],
) -> Iterator[ExitTax]:
    """By token, over all positions that the step changes."""
    owed: Counter[Address] = Counter()
    arrived: Counter[Address] = Counter(changes)
    taxed: set[Address] = set()
    price = 0
    for effect in effects_of(step.call):
        match effect:
            case Withdrawal(ref, liquidity) if ref in positions:
                position = positions[ref]
            case Provision(None, _, Span() as span) if price:
                arrived.update(_entered(effect, span, price))
                continue
            case _:
                return
        price, key = position.pool.sqrt_price_x96, position.pool.key
        part = position.liquidity if liquidity is None else liquidity
        held = position.span.holds(price, part, round_up=False)
        pair = key.currency0, key.currency1
        for token, amount, fee in zip(pair, held, position.amounts_owed, strict=True):
            owed[effect.paid_as(token)] += amount + fee
        if hook_passport(key.hooks, key.fee).can_tax_exit:
            taxed.update(pair)
    for token, amount in owed.items():
        if arrived[token] < amount:
            yield ExitTax(token, amount, arrived[token], token in taxed)


def _entered(provision: Provision, span: Span, price: int) -> dict[Address, int]:
    """What entering costs at the price of the exit before it, which moves none."""
    if provision.pool is None:
        return {}
    taken = span.holds(price, provision.liquidity_at(price, span), round_up=True)
    return dict(zip((provision.pool.currency0, provision.pool.currency1), taken, strict=True))
