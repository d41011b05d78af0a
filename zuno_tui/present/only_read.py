"""What is not done with positions of Uniswap v3, and where it can be done."""

from chain.base.errors import ZunoError
from chain.contracts.networks import Network
from chain.protocols.reference import PositionRef, is_v3, position_label
from zuno_tui.catalog.arguments import positions_named
from zuno_tui.catalog.command import Command, Intent

_PAGE = "https://app.uniswap.org/positions"


class OnlyReadError(ZunoError):
    """Something was asked of a position of v3 that is there for v4 alone."""


def v3_named(intent: Intent) -> PositionRef | None:
    """A position of v3 that is asked about."""
    return next(filter(is_v3, positions_named(intent)), None)


def refuse_v3(command: Command, intent: Intent, network: Network) -> None:
    """Whatever a command does with positions, it takes those of v3 only where it says so."""
    ref = v3_named(intent)
    if ref is not None and not command.takes_v3:
        raise OnlyReadError(
            f"`{command.name}` works on v4 only so far: {position_label(ref)} is read and "
            f"watched here. {carry_out(ref, network)}"
        )


def carry_out(ref: PositionRef, network: Network) -> str:
    """How every plan for a position of v3 ends, and every command that would move its money."""
    return f"v3: carry it out in Uniswap's page: {page_of(ref, network)}"


def page_of(ref: PositionRef, network: Network) -> str:
    """The position's own page on a live network; elsewhere the list of all."""
    if network.testnet:
        return _PAGE
    return f"{_PAGE}/v3/{network.name}/{ref.token_id}"
