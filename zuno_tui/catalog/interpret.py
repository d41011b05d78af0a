"""What a typed line comes to: a command that runs, one that fills the line, or a question back.

An exact command and a look run at once. Whatever else a sentence is taken for only fills the line
with the exact command, and waits for Enter.
"""

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from chain.base.clean_text import NOT_KEPT, clean_text, looks_secret
from chain.base.spelling import nearest, one_slip_apart
from chain.contracts.networks import all_networks
from chain.protocols.reference import position_name
from zuno_tui.catalog.by_name import nearest_by_help, shell_command_said
from zuno_tui.catalog.command import Verb
from zuno_tui.catalog.registry import CommandRegistry
from zuno_tui.intents.arguments import positions_named
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.phrase_error import Misunderstood, NotReadYetError, PhraseError, UnclearError
from zuno_tui.intents.pieces import LONGEST_PHRASE, list_names
from zuno_tui.intents.remaining import Remaining
from zuno_tui.prompt.create_phrase import parse_create
from zuno_tui.prompt.figures import width
from zuno_tui.prompt.languages import other_language
from zuno_tui.prompt.line_slots import no_such_position
from zuno_tui.prompt.named_networks import network_called
from zuno_tui.prompt.sentences import Lines, Meaning, PlainAnswer, filling_verbs, sentence_meaning
from zuno_tui.prompt.slots import ALIASES, common_symbol, is_look, is_spoken_here, read_sentence
from zuno_tui.prompt.unused import unused_of
from zuno_tui.prompt.words import tokens_of

_PROGRAM = "zuno "
_AROUND_WORDS = ".,;!\"'`“”‘’«»()[]"
_COURTESIES = frozenset(
    ("please", "pls", "plz", "hey", "hi", "hello", "gm", "yo", "zuno", "ok", "okay", "now")
)
_BARE_POSITION = re.compile(r"(?:#|3:)?[0-9]{1,77}", re.ASCII)
_SHORTEST_MENDED = 4
_FROM_TO = re.compile(r"#?[0-9]+ ?(?:to|through|thru|-|–|\.\.) ?#?[0-9]+", re.IGNORECASE)
_NAMES_TOKEN = ("symbol", "sold", "bought", "token")
_ANYBODYS = frozenset(("inspect", "history", "unhedge", "watch-ids"))
"""Commands that look at positions of any wallet; a hedge may outlive its position."""
_MOST_OFFERED = 12
_IS_QUESTION = "Is that a question? To prepare it, type it without the question mark."


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


class FilledLine(Struct, frozen=True):
    """An exact command for the person to read and send; it has not run."""

    line: str
    others: tuple[str, ...] = ()
    """Where several were meant, those that are still to be typed."""
    unused: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        then = f" Then: {list_names(self.others)}." if self.others else ""
        without = f"It leaves out {list_names(self.unused)}. " if self.unused else ""
        return f"{without}Press Enter to run.{then}"


def understand(
    text: str, context: PhraseContext, commands: CommandRegistry
) -> Intent | FilledLine | Misunderstood:
    """The command that runs now, the line that waits for Enter, or what to say instead."""
    try:
        found = interpret(text, context, commands)
    except NotReadYetError as unread:
        return Misunderstood(str(unread), offer="positions")
    if found.misunderstood is not None:
        return found.misunderstood
    if found.runs:
        return found.intents[0]
    if found.intents:
        return FilledLine(found.lines[0], found.lines[1:], found.unused)
    if found.question is None:
        return Misunderstood(found.answer or "", answered=True)
    shown = found.lines[:_MOST_OFFERED] or tuple(map(typed_line, found.choices))
    offers = f" Type one: {list_names(shown)}." if shown else ""
    return Misunderstood(f"{found.question}{offers}", missing=True)


def typed_line(twin: str) -> str:
    """A command line as it is typed at the prompt."""
    return twin.removeprefix(_PROGRAM)


def interpret(text: str, context: PhraseContext, commands: CommandRegistry) -> Interpretation:
    """NotReadYetError says what must be read before the line can be understood.

    A question names what it leaves out, so that no number is lost on the way to an answer.
    """
    found = _interpret(text, context, commands)
    if found.question is None:
        return found
    said = (found.question, *found.lines, *found.choices)
    left = unused_of(read_sentence(text, context), said, context, asked=True)
    if not left:
        return found
    return replace(found, question=f"{found.question} Not used so far: {list_names(left)}.")


def _interpret(text: str, context: PhraseContext, commands: CommandRegistry) -> Interpretation:
    words = words_of(text)
    if (refused := _refused(text, words, commands)) is not None:
        return Interpretation(misunderstood=refused)
    by_verb = _by_verb(words, context, commands)
    if not isinstance(by_verb, Misunderstood):
        exact = _from_to(by_verb, text) or _exact(by_verb, words, text, context, commands)
        if exact is not None:
            return exact
    if (other := _typed_elsewhere(text, by_verb, context, commands)) is not None:
        return Interpretation(misunderstood=other)
    meaning = sentence_meaning(text, context)
    if meaning is None:
        return _nearly(by_verb, words, context, commands)
    return _of_sentence(meaning, by_verb, text, context, commands)


def _of_sentence(
    meaning: Meaning,
    by_verb: Intent | Misunderstood,
    text: str,
    context: PhraseContext,
    commands: CommandRegistry,
) -> Interpretation:
    """What the sentence means, unless that leaves out what another command's name or help says."""
    found = _of_meaning(meaning, context, commands)
    words = words_of(text)
    if not found.runs and (nearer := _of_unread(text, commands)) is not None:
        return Interpretation(misunderstood=nearer)
    if isinstance(by_verb, Misunderstood) and _drops_words(by_verb, found, words, commands):
        return Interpretation(misunderstood=by_verb)
    return found


def _of_unread(text: str, commands: CommandRegistry) -> Misunderstood | None:
    """`open it in my browser`: the one command whose help has the word that nothing reads."""
    words = (token.text for token in tokens_of(text))
    unread = [word for word in words if word.isalpha() and not is_spoken_here(word)]
    if not unread:
        return None
    unknown = Misunderstood(f"I do not know {list_names(map(repr, unread))}.")
    named = _by_help(unknown, unread, commands)
    return None if named is unknown else named


def _typed_elsewhere(
    text: str, by_verb: Intent | Misunderstood, context: PhraseContext, commands: CommandRegistry
) -> Misunderstood | None:
    """What is said in another language, or names what only a shell runs."""
    unknown = isinstance(by_verb, Misunderstood) and not by_verb.understood
    language = other_language(text) if unknown else None
    if language is not None:
        return _not_read(language)
    sentence = read_sentence(text, context)
    shell = shell_command_said(sentence.words, commands.paths(for_shell=True))
    return None if shell is None or sentence.ids else _for_shell(" ".join(shell))


def _for_shell(command: str) -> Misunderstood:
    return Misunderstood(f"`zuno {command}` is typed in a shell, not here.", command)


def _from_to(intent: Intent, text: str) -> Interpretation | None:
    """`collect 26 to 29` may mean two positions, or four."""
    span = _FROM_TO.search(text) if len(getattr(intent, "refs", ())) > 1 else None
    if span is None:
        return None
    return Interpretation(question=f"All from {span[0]}? Name each by its number.")


def _not_read(language: str) -> Misunderstood:
    sentence = f"That looks like {language}. zuno reads English; `help` lists what can be typed."
    return Misunderstood(sentence, offer="help")


def _drops_words(
    by_verb: Misunderstood,
    found: Interpretation,
    words: tuple[str, ...],
    commands: CommandRegistry,
) -> bool:
    """Whether a command by its own name would leave out a word or number that was typed after it.

    Sentences in other words hold many that say nothing; behind a command's name each is meant.
    """
    verb = commands.verb_named(by_verb.understood)
    if verb is None or not " ".join(words).lower().startswith(f"{verb.name} "):
        return False
    filled = " ".join((*found.lines, found.question or "")).lower()
    left = (token.text for word in by_verb.unread for token in tokens_of(word))
    unknown = (word for word in left if word.isalpha() and not is_spoken_here(word))
    dropped = any(word not in filled for word in unknown)
    return dropped or (bool(found.intents) and bool(found.unused))


def _of_meaning(
    meaning: Meaning, context: PhraseContext, commands: CommandRegistry
) -> Interpretation:
    """The lines of a sentence, read by the commands' own verbs."""
    if isinstance(meaning, PlainAnswer):
        return Interpretation(answer=meaning.text)
    lines = meaning.lines if isinstance(meaning, Lines) else meaning.choices
    intents: list[Intent] = []
    for line in lines:
        intent = _by_verb(tuple(line.split()), context, commands)
        if isinstance(intent, Misunderstood):
            return Interpretation(misunderstood=intent)
        intents.append(intent)
    if isinstance(meaning, Lines):
        unheld = _held_only(intents, context, commands)
        found = unheld or _interpreted(intents, lines, context, commands)
        left = meaning.unused if found.intents else ()
        return replace(found, runs=found.runs and not left, unused=left)
    choices = tuple(dict.fromkeys(intent.twin for intent in intents))
    return Interpretation(question=meaning.text, choices=choices, lines=lines)


def may_look(intent: Intent, commands: CommandRegistry) -> bool:
    """Whether a sentence may run it: it only reads."""
    name, path = commands.name_of(intent), getattr(intent, "command", ())
    acts = (getattr(intent, part, None) for part in ("action", "token", "what", "forget"))
    changes = any(acts) or getattr(intent, "everything", False)
    listing = name in ("alert", "doctor", "orders", "outbox", "revoke")
    # `order cancel` is no `cancel`: of a command below another both must only look.
    return is_look(name) and all(map(is_look, path[:1])) and not (listing and changes)


def _interpreted(
    intents: Sequence[Intent],
    lines: Sequence[str],
    context: PhraseContext,
    commands: CommandRegistry,
) -> Interpretation:
    unclear = next(filter(None, (_unreadable(intent, context) for intent in intents)), None)
    if unclear is not None:
        return Interpretation(question=unclear)
    runs = len(intents) == 1 and may_look(intents[0], commands)
    return Interpretation(tuple(intents), tuple(lines), runs=runs)


def _exact(
    intent: Intent,
    words: tuple[str, ...],
    text: str,
    context: PhraseContext,
    commands: CommandRegistry,
) -> Interpretation | None:
    """What a verb's own reading comes to; None where a sentence is likelier."""
    topic = getattr(intent, "topic", None)
    if topic is not None and topic not in commands.phrases():
        return None
    if _unreadable(intent, context) is not None and len(words) > 1:
        meaning = sentence_meaning(text, context)
        if meaning is not None and not isinstance(meaning, PlainAnswer):
            return None
    asked = text.rstrip().endswith("?")
    verb, count = commands.verb_at_start(words) or (None, 0)
    line = " ".join(words)
    if verb is not None and not line.lower().startswith(verb.name) and _only_fills(verb):
        line = " ".join((verb.name, *words[count:]))
    elif not asked:
        unheld = _held_only([intent], context, commands)
        return unheld or Interpretation((intent,), (line,), runs=True)
    opens = typed_line(intent.twin).startswith("create ") and _unreadable(intent, context) is None
    if not (opens or may_look(intent, commands)) and sentence_meaning(text, context) is not None:
        return None
    if asked and not may_look(intent, commands):
        return Interpretation(question=_IS_QUESTION, choices=(intent.twin,))
    unheld = _held_only([intent], context, commands)
    return unheld or _interpreted([intent], [line], context, commands)


def _only_fills(verb: Verb) -> bool:
    """Whether its synonyms are no exact command: it moves money, or changes a setting."""
    return verb.money or verb.name.split()[0] in filling_verbs()


def _held_only(
    intents: Sequence[Intent], context: PhraseContext, commands: CommandRegistry
) -> Interpretation | None:
    """A question where a number is no position's of the wallet."""
    if not context.positions:
        return None
    for intent in intents:
        unheld = [ref for ref in positions_named(intent) if ref not in context.positions]
        if unheld and commands.name_of(intent) not in _ANYBODYS:
            return Interpretation(question=no_such_position(position_name(unheld[0]), context))
    return None


def _unreadable(intent: Intent, context: PhraseContext) -> str | None:
    """What keeps the words of `create`, or of `range` without a number, from being followed."""
    verb, _, _ = typed_line(intent.twin).partition(" ")
    phrase = getattr(intent, {"create": "phrase", "range": "what"}.get(verb, ""), None)
    if phrase is None or phrase.isdecimal():
        return None
    if (width(read_sentence(phrase, context))) is not None:
        return "A range is named by its two prices, like between 2900 and 3300."
    network = network_called((context.network,)) or all_networks()[0]
    try:
        parse_create(phrase, network)
    except PhraseError as error:
        return str(error)
    return None


def _by_verb(
    words: tuple[str, ...], context: PhraseContext, commands: CommandRegistry
) -> Intent | Misunderstood:
    if len(words) == 1 and _BARE_POSITION.fullmatch(words[0]):
        words = ("inspect", *words)
    found = commands.verb_at_start(words)
    if found is None and (alone := commands.shell_only(words)):
        return _for_shell(alone)
    if found is None:
        unknown = Misunderstood(f"I do not know '{words[0]}'.", offer="help")
        return commands.shell_intent(words) or unknown
    verb, count = found
    try:
        return _with_symbols(verb.read(Remaining(verb.name, words[count:], context)), context)
    except UnclearError as unclear:
        return commands.shell_intent(words, count) or unclear.misunderstood


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


def _refused(text: str, words: tuple[str, ...], commands: CommandRegistry) -> Misunderstood | None:
    if looks_secret(text[: 2 * LONGEST_PHRASE]):
        return Misunderstood(NOT_KEPT)
    if len(text) > LONGEST_PHRASE:
        return Misunderstood(f"That is too long: at most {LONGEST_PHRASE} characters.")
    if not words:
        return Misunderstood("Nothing was typed.", offer="help")
    # Of two words it is meant to the letter; one may begin a sentence.
    alone = commands.shell_only(words)
    return _for_shell(alone) if " " in alone else None


def _nearly(
    by_verb: Intent | Misunderstood,
    words: tuple[str, ...],
    context: PhraseContext,
    commands: CommandRegistry,
) -> Interpretation:
    """One letter of the first word mended, or the nearest verb, only ever offered for money."""
    if not isinstance(by_verb, Misunderstood):
        return _interpreted([by_verb], [" ".join(words)], context, commands)
    if by_verb.understood:
        return Interpretation(misunderstood=by_verb)
    known = commands.phrases()
    typed = " ".join(words[:2]).lower()
    near = nearest(typed, known) or nearest(words[0].lower(), known)
    mended = [word for word in known if one_slip_apart(words[0].lower(), word)]
    if len(mended) == 1 and len(words[0]) >= _SHORTEST_MENDED and not known[mended[0]].money:
        meant = (mended[0], *words[1:])
        intent = _by_verb(meant, context, commands)
        if not isinstance(intent, Misunderstood):
            return _interpreted([intent], [" ".join(meant)], context, commands)
    if near is None:
        return Interpretation(misunderstood=_by_help(by_verb, words, commands))
    verb = known[near]
    if verb.money:
        typed = f"{by_verb.sentence} What moves money is typed exactly: {verb.usage_text}"
        return Interpretation(misunderstood=Misunderstood(typed))
    numbers = [word for word in words if _BARE_POSITION.fullmatch(word)]
    sentence = f"{by_verb.sentence} The nearest is {verb.name}: {commands.purpose(verb.name)}."
    return Interpretation(misunderstood=Misunderstood(sentence, offer=" ".join((near, *numbers))))


def _by_help(
    unknown: Misunderstood, words: Sequence[str], commands: CommandRegistry
) -> Misunderstood:
    paths = commands.paths()
    path = nearest_by_help([word.lower() for word in words], paths)
    if path is None:
        return unknown
    nearest = f"The nearest is `zuno {' '.join(path)}`: {paths[path].does}."
    return replace(unknown, sentence=f"{unknown.sentence} {nearest}")
