"""Which commands do nothing but read: for whoever may look and never act."""

from zuno_tui.catalog.registry import CommandRegistry
from zuno_tui.catalog.typed_line import may_look
from zuno_tui.intents.intent import Intent

READING = frozenset(
    (
        *("alerts", "balances", "diff", "earned", "exit-drill", "explain", "gas", "glossary"),
        *("help", "history", "inspect", "orders", "outbox", "plan", "pools", "portfolio"),
        *("positions", "price", "range", "records", "scorecard", "what-if", "why"),
    )
)


def only_reads(intent: Intent, commands: CommandRegistry) -> bool:
    """Named here, and with nothing that changes what is listed."""
    return commands.name_of(intent) in READING and may_look(intent, commands)


def only_shows(intent: Intent, commands: CommandRegistry) -> bool:
    """Reads, draws no file for programs, and settles nothing on the way as the outbox does."""
    files = any(getattr(intent, part, None) for part in ("csv", "form"))
    return only_reads(intent, commands) and not files and commands.name_of(intent) != "outbox"
