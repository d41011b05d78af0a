"""What cannot be asked about a position of every protocol."""

from chain.base.errors import ZunoError
from chain.protocols.reference import position_label
from zuno_tui.catalog.command import Command
from zuno_tui.intents.arguments import positions_named
from zuno_tui.intents.intent import Intent


class OtherProtocolError(ZunoError):
    """Something was asked of a position that is not there for its protocol."""


def refuse_other_protocols(command: Command, intent: Intent) -> None:
    """Most commands take positions of every protocol; one that does not says which it takes."""
    for ref in positions_named(intent):
        if command.only_on and ref.protocol not in command.only_on:
            raise OtherProtocolError(
                f"`{command.name}` works on {' and '.join(command.only_on)} only so far, and "
                f"{position_label(ref)} is of {ref.protocol}."
            )
