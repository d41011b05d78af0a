"""A line as it is typed, read by the commands' own verbs, and what a line may come to."""

import re

from msgspec import Struct
from msgspec.structs import replace

from chain.base.clean_text import clean_text
from zuno_tui.catalog.registry import CommandRegistry
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.phrase_error import Misunderstood, PhraseError, UnclearError
from zuno_tui.intents.pieces import LONGEST_PHRASE
from zuno_tui.intents.remaining import Remaining
from zuno_tui.prompt.slots import ALIASES, common_symbol, is_look

_PROGRAM = "zuno "
_AROUND_WORDS = ".,;!\"'`“”‘’«»()[]"
_COURTESIES = frozenset(
    ("please", "pls", "plz", "hey", "hi", "hello", "gm", "yo", "zuno", "ok", "okay", "now")
)
BARE_POSITION = re.compile(r"(?:#|3:)?[0-9]{1,77}", re.ASCII)
_NAMES_TOKEN = ("symbol", "sold", "bought", "token")


class Interpretation(Struct, frozen=True):
    """What a line comes to: commands in order, a question back, an answer, or none of these."""

    intents: tuple[Intent, ...] = ()
    lines: tuple[str, ...] = ()
    """The same commands, or the choices, as they are typed at the prompt."""
    runs: bool = False
    """Whether it may run at once: an exact command, or one look."""
    unused: tuple[str, ...] = ()
    """What was said besides, that the line has no place for; it waits for Enter then."""
    question: str | None = None
    choices: tuple[str, ...] = ()
    """What to type, as command lines where there are such."""
    answer: str | None = None
    misunderstood: Misunderstood | None = None


def typed_line(twin: str) -> str:
    """A command line as it is typed at the prompt."""
    return twin.removeprefix(_PROGRAM)


def may_look(intent: Intent, commands: CommandRegistry) -> bool:
    """Whether a sentence may run it: it only reads."""
    name, path = commands.name_of(intent), getattr(intent, "command", ())
    acts = (getattr(intent, part, None) for part in ("action", "token", "what", "forget"))
    changes = any(acts) or getattr(intent, "everything", False)
    watches = bool(getattr(intent, "coins", ()))
    listing = name in ("alert", "doctor", "orders", "outbox", "revoke")
    # `order cancel` is no `cancel`: of a command below another both must only look.
    return is_look(name) and all(map(is_look, path[:1])) and not ((listing and changes) or watches)


def for_shell(command: str) -> Misunderstood:
    return Misunderstood(f"`zuno {command}` is typed in a shell, not here.", command, answered=True)


def read_line(
    words: tuple[str, ...], context: PhraseContext, commands: CommandRegistry
) -> Intent | Misunderstood:
    if len(words) == 1 and BARE_POSITION.fullmatch(words[0]):
        words = ("inspect", *words)
    found = commands.verb_at_start(words)
    if found is None and (alone := commands.shell_only(words)):
        return for_shell(alone)
    if found is None:
        unknown = Misunderstood(f"I do not know '{words[0]}'.", offer="help")
        return commands.shell_intent(words) or unknown
    verb, count = found
    try:
        return _with_symbols(verb.read(Remaining(verb.name, words[count:], context)), context)
    except UnclearError as unclear:
        return commands.shell_intent(words, count) or unclear.misunderstood
    except PhraseError as wrong:
        return Misunderstood(str(wrong), verb.name)


def _with_symbols(intent: Intent, context: PhraseContext) -> Intent:
    """Tokens by the symbol they have where the wallet holds them: BTC as WBTC."""
    named = {name: getattr(intent, name, None) for name in _NAMES_TOKEN}
    changed = {
        name: common_symbol(symbol, context)
        for name, symbol in named.items()
        if isinstance(symbol, str) and symbol.upper() in ALIASES
    }
    return replace(intent, **changed) if changed else intent


def words_of(text: str) -> tuple[str, ...]:
    """The words of a line, without what cannot be seen, marks around them and courtesies."""
    shown = clean_text(text, limit=LONGEST_PHRASE).replace("’", "'")
    # The keys that lead to the prompt, pressed once more in it.
    shown = shown.removeprefix(":").removeprefix("/")
    bare = (_without_marks(word) for word in shown.split())
    words = [word.rstrip("?") if len(word) > 1 else word for word in bare]
    words = [word for word in words if word]
    while len(words) > 1 and words[0].lower() in _COURTESIES:
        words = words[1:]
    return tuple(words)


def _without_marks(word: str) -> str:
    """The point of `.05` belongs to the number: without it a hundred times as much is meant."""
    bare = word.strip(_AROUND_WORDS)
    before = word[: len(word) - len(word.lstrip(_AROUND_WORDS))]
    return f".{bare}" if before.endswith(".") and bare[:1].isdigit() else bare
