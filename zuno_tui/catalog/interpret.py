"""What a typed line comes to: a command that runs, one that fills the line, or a question back.

An exact command and a look run at once. Whatever else a sentence is taken for only fills the line
with the exact command, and waits for Enter.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from chain.base.clean_text import NOT_KEPT, looks_secret
from chain.base.spelling import nearest
from chain.contracts.networks import all_networks
from chain.protocols.reference import position_name
from zuno_tui.catalog.command import Verb
from zuno_tui.catalog.declared import declared_line
from zuno_tui.catalog.registry import CommandRegistry
from zuno_tui.catalog.typed_line import (
    BARE_POSITION,
    Interpretation,
    for_shell,
    may_look,
    read_line,
    typed_line,
    words_of,
)
from zuno_tui.intents.arguments import positions_named
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.intent import Intent, flat
from zuno_tui.intents.phrase_error import Misunderstood, NotReadYetError, PhraseError
from zuno_tui.intents.pieces import LONGEST_PHRASE, list_names
from zuno_tui.prompt.create_phrase import parse_create
from zuno_tui.prompt.figures import width
from zuno_tui.prompt.languages import other_language
from zuno_tui.prompt.line_slots import no_such_position
from zuno_tui.prompt.named_networks import network_called
from zuno_tui.prompt.sentences import (
    LikelyMeaning,
    Lines,
    Meaning,
    PlainAnswer,
    filling_verbs,
    likely_meanings,
)
from zuno_tui.prompt.slots import Sentence, is_spoken_here, read_sentence
from zuno_tui.prompt.unused import unused_of
from zuno_tui.prompt.words import spelled_words, stem, tokens_of

_FROM_TO = re.compile(r"#?[0-9]+ ?(?:to|through|thru|-|–|\.\.) ?#?[0-9]+", re.IGNORECASE)
_ANYBODYS = frozenset(("inspect", "history", "unhedge", "watch-ids"))
"""Commands that look at positions of any wallet; a hedge may outlive its position."""
_MOST_OFFERED = 12
_CLEAR, _CLEAR_ACT, _WORTH_ASKING, _LEAST, _LEAST_ASKED = 50, 60, 5, 25, 6
"""From which share on a line is meant, what is asked about beside it, and what says nothing."""
_LONGEST_COMMAND = 7
"""Words of a line that is meant as a command; more are a sentence that begins like one."""
_WHICH = "Did you mean one of these?"
_IS_QUESTION = "Is that a question? To prepare it, type it without the question mark."


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
    by_verb = _as_its_own(read_line(words, context, commands), words, commands)
    sentence = read_sentence(text, context)
    if not isinstance(by_verb, Misunderstood):
        exact = _from_to(by_verb, text) or _exact(by_verb, words, sentence, context, commands)
        if exact is not None:
            return exact
    elif not by_verb.understood and (language := other_language(text)) is not None:
        return Interpretation(misunderstood=_not_read(language))
    found = _likeliest(words, sentence, context, commands)
    if isinstance(by_verb, Misunderstood) and by_verb.understood:
        wrong = found.misunderstood
        same = wrong is not None and f"{wrong.understood} ".startswith(f"{by_verb.understood} ")
        choices = found.lines if found.question else ()
        elsewhere = wrong is not None or (
            choices and not any(line.startswith(by_verb.understood) for line in choices)
        )
        verb = commands.verb_named(by_verb.understood)
        named = words[0].lower() == by_verb.understood or (verb is not None and _only_fills(verb))
        lacks = by_verb.missing and named and elsewhere and not found.intents
        example = (found.question or "").partition("Like: ")[2]
        bare = by_verb.missing and example and " ".join(words).lower() == by_verb.understood
        another = bare and not example.startswith(by_verb.understood)
        if same or lacks or another or _drops_words(by_verb, found, words, commands):
            return Interpretation(misunderstood=by_verb)
    return found


class _Likely(NamedTuple):
    found: Interpretation
    share: int
    acts: bool
    looks: bool
    """Whether its line may run at once."""

    @property
    def is_whole(self) -> bool:
        """Whether it fills a line, and all that was said is in it."""
        found = self.found
        told = found.misunderstood is not None and found.misunderstood.answered
        return bool(found.intents or told) and not (found.unused and self.looks)


def _likeliest(
    words: tuple[str, ...], sentence: Sentence, context: PhraseContext, commands: CommandRegistry
) -> Interpretation:
    """What is likeliest where it is clear; else a question that names what is near."""

    def fill(line: str, part: Sentence) -> str:
        return declared_line(line, part, words, context, commands)

    def likely_of(likely: LikelyMeaning) -> _Likely:
        found = _of_meaning(likely.meaning, context, commands)
        looks = all(may_look(intent, commands) for intent in found.intents)
        return _Likely(found, likely.share, likely.acts, looks)

    each = map(likely_of, likely_meanings(sentence, context, fill))
    first = next(each)
    clear = _CLEAR_ACT if first.acts else _CLEAR
    if first.share >= clear and first.is_whole:
        return first.found
    near = [other for other in each if other.is_whole and other.share >= _LEAST_ASKED]
    if first.share < _LEAST:
        near = [first, *near] if first.share >= _LEAST_ASKED else near
        first = _Likely(_nearly(words, context, commands), _LEAST, acts=False, looks=True)
    near = [other for other in near if _WORTH_ASKING * other.share >= first.share]
    if not first.acts and first.found.unused and near and not near[0].acts:
        return near[0].found
    if first.share >= clear or not near:
        return first.found
    if first.found.runs and first.is_whole and not any(other.acts for other in near):
        # The best of looks is shown: it does nothing, and says what it shows.
        return first.found
    told = near[0].found if first.share == _LEAST and not first.found.intents else first.found
    return _asked_which([first, *near], sentence) or told


def _asked_which(likely: Sequence[_Likely], sentence: Sentence) -> Interpretation | None:
    """Whole lines to choose from; what is denied is not offered."""
    denied = sentence.has("not", "keep")
    offered: dict[str, str] = {}
    told: list[str] = []
    for each in likely:
        found = each.found
        if denied and each.acts:
            continue
        offered |= dict(zip((intent.twin for intent in found.intents), found.lines, strict=False))
        offered |= dict(zip(found.choices, found.lines or found.choices, strict=False))
        if found.misunderstood is not None and each.is_whole:
            told.append(found.misunderstood.sentence)
    if not offered:
        return None
    first = likely[0].found
    question = " ".join((first.question or _WHICH, *told))
    return Interpretation(question=question, choices=tuple(offered), lines=tuple(offered.values()))


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
    if (
        len(words) > _LONGEST_COMMAND
        or verb is None
        or not " ".join(words).lower().startswith(f"{verb.name} ")
    ):
        return False
    filled = " ".join((*found.lines, found.question or "")).lower()
    left = (token.text for word in by_verb.unread for token in tokens_of(word))
    unknown = (word for word in left if word.isalpha() and not is_spoken_here(word))
    declared = _declared(commands.path_of(verb.name), commands)
    dropped = any(word not in filled and stem(word) not in declared for word in unknown)
    return dropped or (bool(found.intents) and bool(found.unused))


def _declared(path: tuple[str, ...], commands: CommandRegistry) -> frozenset[str]:
    """The words of what a command takes."""
    command = commands.paths().get(path)
    known = () if command is None else flat(command.intent.arguments)
    texts = (text for each in known for text in (each.name, each.help, *each.choices))
    return frozenset(stem(word) for text in texts for word in spelled_words(text))


def _of_meaning(
    meaning: Meaning, context: PhraseContext, commands: CommandRegistry
) -> Interpretation:
    """The lines of a sentence, read by the commands' own verbs."""
    if isinstance(meaning, PlainAnswer):
        return Interpretation(answer=meaning.text)
    lines = meaning.lines if isinstance(meaning, Lines) else meaning.choices
    intents: list[Intent] = []
    for line in lines:
        intent = _read_whole(line, context, commands)
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


def _read_whole(
    line: str, context: PhraseContext, commands: CommandRegistry
) -> Intent | Misunderstood:
    """As the desk reads it, else as a shell does; what only a shell runs is named."""
    words = tuple(line.split())
    count = next((count for count in (2, 1) if words[:count] in commands.paths()), 0)
    path = words[:count]
    if path in commands.paths(for_shell=True):
        return for_shell(line)
    flagged = any(word.startswith("--") for word in words)
    whole = commands.paths()[path].intent.from_words(words[count:]) if flagged and count else None
    typed = whole or _as_its_own(read_line(words, context, commands), words, commands)
    if path == ("setting",) and isinstance(typed, Misunderstood):
        return for_shell(line)
    if not isinstance(typed, Misunderstood) or not words[count:] or not count:
        return typed
    whole = commands.paths()[path].intent.from_words(words[count:])
    return typed if whole is None or not may_look(whole, commands) else whole


def _as_its_own(
    read: Intent | Misunderstood, words: tuple[str, ...], commands: CommandRegistry
) -> Intent | Misunderstood:
    """`order export 1 one.json` by the command of that name, and not as words of another."""
    command = commands.paths().get(words[:2])
    if command is None or isinstance(read, Misunderstood) or len(words) <= len(read.command):
        return read
    other = len(read.command) == len(words[:2]) and read.command[1:] != words[1:2]
    if not other or read.command[0] != words[0]:
        return read
    return command.intent.from_words(words[2:]) or read


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
    sentence: Sentence,
    context: PhraseContext,
    commands: CommandRegistry,
) -> Interpretation | None:
    """What a verb's own reading comes to; None where a sentence is likelier."""
    topic = getattr(intent, "topic", None)
    if topic is not None and topic not in commands.phrases():
        return None
    if _unreadable(intent, context) is not None and len(words) > 1:
        likely = next(likely_meanings(sentence, context))
        if not isinstance(likely.meaning, PlainAnswer):
            return None
    asked = sentence.words[-1:] == ("?",)
    verb, count = commands.verb_at_start(words) or (None, 0)
    line = " ".join(words)
    if verb is not None and not line.lower().startswith(verb.name) and _only_fills(verb):
        line = " ".join((verb.name, *words[count:]))
    elif not asked:
        unheld = _held_only([intent], context, commands)
        return unheld or Interpretation((intent,), (line,), runs=True)
    opens = typed_line(intent.twin).startswith("create ") and _unreadable(intent, context) is None
    if not (opens or may_look(intent, commands)):
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


def _refused(text: str, words: tuple[str, ...], commands: CommandRegistry) -> Misunderstood | None:
    if looks_secret(text[: 2 * LONGEST_PHRASE]):
        return Misunderstood(NOT_KEPT)
    if len(text) > LONGEST_PHRASE:
        return Misunderstood(f"That is too long: at most {LONGEST_PHRASE} characters.")
    if not words:
        return Misunderstood("Nothing was typed.", offer="help")
    # Of two words it is meant to the letter; one may begin a sentence.
    alone = commands.shell_only(words)
    return for_shell(alone) if " " in alone else None


def _nearly(
    words: tuple[str, ...], context: PhraseContext, commands: CommandRegistry
) -> Interpretation:
    """What reads the first words, else the nearest command, for nothing that moves money."""
    by_verb = read_line(words, context, commands)
    if not isinstance(by_verb, Misunderstood):
        return _interpreted([by_verb], [" ".join(words)], context, commands)
    if by_verb.understood:
        return Interpretation(misunderstood=by_verb)
    known = commands.phrases()
    near = nearest(" ".join(words[:2]).lower(), known) or nearest(words[0].lower(), known)
    if near is None:
        return Interpretation(misunderstood=by_verb)
    verb = known[near]
    if verb.money:
        typed = f"{by_verb.sentence} What moves money is typed exactly: {verb.usage_text}"
        return Interpretation(misunderstood=Misunderstood(typed))
    numbers = [word for word in words if BARE_POSITION.fullmatch(word)]
    sentence = f"{by_verb.sentence} The nearest is {verb.name}: {commands.purpose(verb.name)}."
    return Interpretation(misunderstood=Misunderstood(sentence, offer=" ".join((near, *numbers))))
