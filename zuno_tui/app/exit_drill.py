"""`zuno exit-drill`: try closing every position now, and say what would come back or why not."""

from fractions import Fraction

from msgspec import Struct

from chain.base.units import Known, Quantity, Unknown, combine
from chain.execution.build.builder import build
from chain.execution.chain_facts import read_chain_facts
from chain.execution.decode.decoder import decode
from chain.execution.decode.words import names_on
from chain.execution.exit_tax import shortfall_words
from chain.execution.plan.facts import BuildError, position_facts
from chain.execution.plan.requests import CloseRequest
from chain.execution.simulate import Simulation, simulate
from chain.positions.overview import Overview, Sources
from chain.protocols.reference import position_label, position_name
from chain.protocols.snapshot import PositionSnapshot
from chain.tokens.pair import pair_of
from zuno_tui.app.positions import wallet_overview
from zuno_tui.app.session import Session
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.output import table
from zuno_tui.present.terminal import columns
from zuno_tui.present.transcript import wrapped
from zuno_tui.present.words import UNKNOWN, amount_of, money

_COLUMNS = columns("#>", "POOL", "WAY OUT", "WOULD RECEIVE", "WORTH>", "GAS>")


class Drill(Struct, frozen=True):
    """One position's way out: what a simulation of leaving says, or why none could be built."""

    position: PositionSnapshot
    simulation: Simulation | None
    refusal: str | None
    warnings: tuple[str, ...] = ()
    """What of it would not arrive."""

    @property
    def open(self) -> bool:
        return self.simulation is not None and self.simulation.success

    @property
    def state(self) -> str:
        if not self.open:
            return "shut"
        return "open, not all of it arrives" if self.warnings else "open"

    @property
    def words(self) -> str:
        """Why it is shut, or what would be missing; the state alone where all is well."""
        if self.refusal is not None:
            return self.refusal
        steps = () if self.simulation is None else self.simulation.steps
        failed = next((step for step in steps if step.failure), None)
        if failed is not None:
            return f"shut: {failed.failure}."
        return " ".join(self.warnings) or self.state


async def exit_drill(session: Session) -> CommandAnswer:
    async with session.sources() as sources:
        overview = await wallet_overview(session, sources)
        drills = [await _try(sources, overview, position) for position in overview.wallet.positions]
    shut = [drill for drill in drills if not drill.open and drill.position.liquidity]
    held = [drill for drill in drills if drill.position.liquidity]
    warnings = (
        wrapped(f"  ! {position_label(drill.position.ref)} {drill.words}", indent=4)
        for drill in drills
        if drill.words != drill.state
    )
    return CommandAnswer(
        heading=(f"{session.network.title} · block {overview.wallet.block.number:,}",),
        lines=(*table(_COLUMNS, [_row(session, overview, drill) for drill in drills]), *warnings),
        document={
            "network": session.network.name,
            "chainId": session.network.chain_id,
            "block": overview.wallet.block.number,
            "owner": overview.wallet.owner,
            "positions": [
                {
                    "tokenId": position_name(drill.position.ref),
                    "open": drill.open,
                    "words": drill.words,
                    "warnings": list(drill.warnings),
                    "method": None if drill.simulation is None else drill.simulation.method,
                    "received0": _units(drill, drill.position.pool.key.currency0),
                    "received1": _units(drill, drill.position.pool.key.currency1),
                }
                for drill in drills
            ],
        },
        remarks=(
            f"{len(held) - len(shut)} of {len(held)} positions can be closed now. That would bring "
            f"{money(_total(overview, drills), overview.portfolio.unit)}, gas not counted.",
        ),
        code=FAILED if shut else DONE,
    )


async def _try(sources: Sources, overview: Overview, position: PositionSnapshot) -> Drill:
    key, block = position.pool.key, overview.wallet.block
    tokens = (key.currency0, key.currency1)
    facts = await read_chain_facts(
        sources.client, sources.network, overview.wallet.owner, tokens, block
    )
    held = position_facts(position)
    try:
        built = build(CloseRequest(held), facts)
    except BuildError as error:
        return Drill(position, None, str(error))
    simulation = await simulate(sources.client, built.transactions, block.hash, tokens)
    names = names_on(sources.network, overview.wallet.owner, overview.tokens, {held.ref: held})
    steps = [decode(transaction) for transaction in built.transactions]
    shortfall = shortfall_words(steps, simulation, {held.ref: held}, names)
    return Drill(position, simulation, None, shortfall)


def _row(session: Session, overview: Overview, drill: Drill) -> tuple[str, ...]:
    key, tokens = drill.position.pool.key, overview.tokens
    token0, token1 = tokens[key.currency0], tokens[key.currency1]
    pair = pair_of(session.network, token0, token1, drill.position.pool.sqrt_price_x96)
    received, gas = "–", "–"
    if drill.open and drill.simulation is not None:
        got0 = _received(drill.simulation, key.currency0)
        got1 = _received(drill.simulation, key.currency1)
        received = (
            f"{amount_of(got0, token0)} {token0.label} + {amount_of(got1, token1)} {token1.label}"
        )
        gas = f"{sum(step.gas_used for step in drill.simulation.steps):,}"
    worth = _worth(overview, drill)
    unit = overview.portfolio.unit
    dollars = UNKNOWN if isinstance(worth, Unknown) else money(worth.value, unit)
    return position_name(drill.position.ref), pair.name, drill.state, received, dollars, gas


def _worth(overview: Overview, drill: Drill) -> Quantity[Fraction]:
    """What would come, at present prices."""
    if drill.simulation is None or not drill.open:
        return Known(Fraction(0), "nothing can be closed")
    key, simulation = drill.position.pool.key, drill.simulation
    parts = [
        overview.prices.value(
            overview.tokens[token], _received(simulation, token), overview.portfolio.unit
        )
        for token in (key.currency0, key.currency1)
    ]
    return combine(lambda one, other: one + other, *parts)


def _total(overview: Overview, drills: list[Drill]) -> Fraction:
    """Of those whose worth is known."""
    known = (_worth(overview, drill) for drill in drills)
    return sum((amount.value for amount in known if not isinstance(amount, Unknown)), Fraction(0))


def _received(simulation: Simulation, token: str) -> int:
    return sum(step.changes.get(token, 0) for step in simulation.steps)


def _units(drill: Drill, token: str) -> str | None:
    if drill.simulation is None or not drill.open:
        return None
    return str(_received(drill.simulation, token))
