"""`zuno exit-drill`: try closing every position now, and say what would come back or why not."""

from msgspec import Struct

from chain.base.units import Unknown
from chain.execution.build.builder import build
from chain.execution.chain_facts import read_chain_facts
from chain.execution.decode.decoder import decode
from chain.execution.decode.words import names_on
from chain.execution.exit_tax import shortfall_words
from chain.execution.plan.facts import BuildError, position_facts
from chain.execution.plan.requests import CloseRequest
from chain.execution.simulate import Simulation, simulate
from chain.positions.overview import Overview, Sources
from chain.protocols.snapshot import PositionSnapshot
from chain.tokens.pair import pair_of
from zuno_tui.app.positions import wallet_overview
from zuno_tui.app.session import Session
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.document import document
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.pages.cells import pool_title, total
from zuno_tui.present.pages.exit_drill import ExitDrillReport, WayOut, exit_drill_page


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
    def words(self) -> str:
        """Why it is shut, or what would be missing; nothing where all is well."""
        if self.refusal is not None:
            return self.refusal
        steps = () if self.simulation is None else self.simulation.steps
        failed = next((step for step in steps if step.failure), None)
        if failed is not None:
            return f"shut: {failed.failure}."
        return " ".join(self.warnings)


async def exit_drill(session: Session) -> CommandAnswer:
    async with session.sources() as sources:
        overview = await wallet_overview(session, sources)
        drills = [await _try(sources, overview, position) for position in overview.wallet.positions]
    ways = tuple(_way_out(session, overview, drill) for drill in drills)
    known = [way.value for way in ways if not isinstance(way.value, Unknown)]
    drill = ExitDrillReport(
        network=session.network.name,
        chain_id=session.network.chain_id,
        block=overview.wallet.block.number,
        owner=overview.wallet.owner,
        unit=overview.portfolio.unit,
        total=total(known),
        positions=ways,
    )
    view = exit_drill_page(drill, session.network.title)
    return CommandAnswer((), document(drill), view=view, code=FAILED if drill.ways_shut else DONE)


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


def _way_out(session: Session, overview: Overview, drill: Drill) -> WayOut:
    position, simulation = drill.position, drill.simulation if drill.open else None
    key = position.pool.key
    tokens = overview.tokens[key.currency0], overview.tokens[key.currency1]
    received = [
        None
        if simulation is None
        else sum(step.changes.get(token.address, 0) for step in simulation.steps)
        for token in tokens
    ]
    return WayOut(
        token_id=position.ref,
        pool=pool_title(pair_of(session.network, *tokens, position.pool.sqrt_price_x96), key),
        held=bool(position.liquidity),
        open=drill.open,
        words=drill.words,
        warnings=drill.warnings,
        method=None if drill.simulation is None else drill.simulation.method,
        token0=tokens[0],
        token1=tokens[1],
        received0=received[0],
        received1=received[1],
        value=total(
            [
                overview.prices.value(token, amount or 0, overview.portfolio.unit)
                for token, amount in zip(tokens, received, strict=True)
            ]
        ),
        gas=None if simulation is None else sum(step.gas_used for step in simulation.steps),
    )
