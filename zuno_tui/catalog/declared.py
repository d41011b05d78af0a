"""A command line filled from what a sentence names, by what the command itself declares to take."""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from chain.base.units import DAY
from chain.protocols.reference import position_name
from zuno_tui.catalog.command import Command
from zuno_tui.catalog.registry import CommandRegistry
from zuno_tui.intents.arguments import CANDIDATE, read_duration
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.intent import Argument, flat
from zuno_tui.intents.phrase_error import UnclearSlotError
from zuno_tui.prompt.days import span_of
from zuno_tui.prompt.line_slots import FILLERS, clock_of, span_text
from zuno_tui.prompt.positions import positions_meant
from zuno_tui.prompt.ranking import line_rows
from zuno_tui.prompt.slots import Sentence, common_symbol, symbol_of
from zuno_tui.prompt.words import find_ideas, grammar, is_plain, plain, spelled_words, stem

_FILE = re.compile(
    r"(?:req_\w+|[./~]\S*/?\S+|[\w-]+/|[\w-]+\.(?:jsonl?|csv(?:\.gz)?|png|toml|txt))", re.ASCII
)
_CODE = re.compile(r"[a-z]+[0-9][a-z0-9]{2,}", re.ASCII | re.IGNORECASE)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}|\S+\.eth", re.ASCII)
_RARE = 3
"""A word that so few commands have says by itself which of them is meant."""
_LONGEST_SYMBOL = 6
_NAMING = frozenset(("of", "for", "named", "called", "wallet", "wallets", "account"))


def declared_line(
    line: str,
    sentence: Sentence,
    typed: Sequence[str],
    context: PhraseContext,
    commands: CommandRegistry,
) -> str:
    """With every value of the sentence for which its command declares a place.

    UnclearSlotError asks for what is missing.
    """
    said = line.split()
    paths = commands.paths()
    count = next((count for count in (2, 1) if tuple(said[:count]) in paths), 0)
    if not count:
        return line
    filling = _LineFiller(
        (paths[tuple(said[:count])], said[count:]), typed, sentence, context, commands
    )
    return " ".join((*said[:count], *filling.words()))


@cache
def _holders(commands: CommandRegistry) -> Counter[str]:
    """How many commands have a word in their name, their flags or their choices."""
    found: Counter[str] = Counter()
    for path, command in commands.paths().items():
        own = [each for each in flat(command.intent.arguments) if not each.inherited]
        texts = (*path, *(text for each in own for text in (each.name, *each.choices)))
        found.update({stem(word) for text in texts for word in spelled_words(text)})
    return found


def _is_name(word: str) -> bool:
    """A word that nothing reads may be the name of a wallet, or of a coin."""
    read = find_ideas((word,)) or is_plain(word) or symbol_of(word) or read_duration(f"1{word}")
    return word.isalnum() and not word.isdigit() and not read


class _LineFiller:
    """Takes values out of a sentence one by one, so that none fills two places."""

    def __init__(
        self,
        named: tuple[Command, Sequence[str]],
        typed: Sequence[str],
        sentence: Sentence,
        context: PhraseContext,
        commands: CommandRegistry,
    ) -> None:
        command, given = named
        self._command, self._sentence, self._context = command, sentence, context
        self._given = list(given)
        self._holders = _holders(commands)
        self._typed = list(typed)
        self._ideas = frozenset(idea.name for idea in sentence.ideas)
        own = {idea.name for idea in find_ideas(spelled_words(command.name))}
        self._told = self._ideas - own - frozenset(grammar().joining.split())
        self._symbols = [common_symbol(symbol, context) for symbol in sentence.symbols]
        self._numbers = [*(token.text for token in sentence.numbers), *sentence.dollars]
        if not any("ID" in (each.metavar or "") for each in flat(command.intent.arguments)):
            # `multisig #2`: no position's.
            self._numbers += map(position_name, sentence.ids)
        self._unread = [place for place, word in enumerate(sentence.words) if _is_name(word)]

    def words(self) -> Sequence[str]:
        words = [*self._words()]
        # `--csv` says nothing beside `--format koinly`.
        known = flat(self._command.intent.arguments)
        finer = {f"--{choice}" for each in known if each.name in words for choice in each.choices}
        return [word for word in words if word not in finer]

    def _words(self) -> Iterator[str]:
        usual = self._command.intent.defaults()
        for argument in flat(self._command.intent.arguments):
            if argument.is_flag:
                yield from self._flag(argument)
                continue
            values = [self._given.pop(0)] if self._given else self._values(argument)
            if not values and argument.value_name not in usual:
                raise UnclearSlotError(self._question(argument))
            yield from values

    def _question(self, argument: Argument) -> str:
        name = " ".join(self._command.intent.command)
        what = ", ".join(argument.choices) or argument.metavar or argument.name
        return f"`{name}` needs {what}{f': {argument.help}' if argument.help else ''}."

    def _flag(self, argument: Argument) -> Iterator[str]:
        if argument.inherited:
            return
        if argument.switch:
            if self._is_switched(argument) or self._is_described(argument):
                yield argument.name
            return
        values = self._choice(argument) if argument.choices else self._flag_value(argument)
        if values:
            yield from (argument.name, " ".join(values))

    def _flag_value(self, argument: Argument) -> Sequence[str]:
        """Of a flag that takes a value: where its name is said, or only it takes such a one."""
        sentence, kind = self._sentence, argument.metavar
        if argument == CANDIDATE:
            return [*filter(None, FILLERS["tried"](self._command.name, sentence, self._context))]
        if kind in ("TIME", "S"):
            return self._span(argument)
        if argument.name in ("--from", "--to") and kind in ("DAY", "DATE"):
            day = span_of(sentence.days, sentence.words)[argument.name == "--to"]
            return [day] if day else []
        if kind == "N" and argument.name == "--days" and sentence.seconds is not None:
            return [str(max(1, sentence.seconds // DAY))]
        if argument.name == "--at" and not sentence.percents:
            return self._number(argument)
        return self._values(argument) if self._is_named(argument) else []

    def _is_named(self, argument: Argument) -> bool:
        """`no swap`, `by depth`: each word of the flag's name stands in the sentence."""
        name = spelled_words(argument.name)
        said = {stem(word) for word in self._sentence.words}
        return bool(name) and all(stem(word) in said for word in name)

    def _is_switched(self, argument: Argument) -> bool:
        """By its name: of several words, of a rare one, or by an idea that only it stands for."""
        name = spelled_words(argument.name)
        ideas = {idea.name for idea in find_ideas(name)}
        alone = len(name) > 1 or self._rare(name[0])
        return (alone and self._is_named(argument)) or not ideas.isdisjoint(self._told)

    def _is_described(self, argument: Argument) -> bool:
        """`news of the last hour alone`: most of what its help says, or its rarest words."""
        spelled = spelled_words(argument.help)
        if self._is_near(argument.name.strip("-")):
            return True
        help_words = {stem(word) for word in spelled if not is_plain(word)}
        shared = help_words.intersection(map(stem, self._sentence.words))
        return bool(shared) and len(shared) >= len(help_words) / 2

    def _choice(self, argument: Argument) -> Sequence[str]:
        """The one choice that is said: by its words, by an idea of it where no other has it."""
        text = f" {' '.join(self._sentence.words)} "
        if argument.name == "--profile":
            return [self._sentence.profile] if self._sentence.profile else []
        known = argument.choices or argument.besides
        own = [each for each in known if f" {' '.join(spelled_words(each))} " in text]
        if argument.is_flag and not self._is_named(argument):
            switches = [each.name for each in flat(self._command.intent.arguments)]
            own = [each for each in own if self._rare(each) and f"--{each}" not in switches]
        if not own:
            own = [each for each in known if self._is_near(each)]
        if not own and (not argument.is_flag or self._is_named(argument)):
            own = [each for each in argument.choices if self._means(each)]
        # `a koinly csv`: the rarer says more.
        own.sort(key=lambda each: self._holders[stem(each)])
        first, second = (self._holders[stem(each)] for each in (own * 2)[:2]) if own else (0, 0)
        alone = len(own) == 1 or first < second
        return own[:1] if alone else []

    def _rare(self, word: str) -> bool:
        return self._holders[stem(word)] <= _RARE

    def _is_near(self, choice: str) -> bool:
        said = {stem(word) for word in self._sentence.words}
        near = spelled_words(grammar().choices.get(choice, ""))
        return any(stem(word) in said for word in near)

    def _means(self, choice: str) -> bool:
        ideas = {idea.name for idea in find_ideas(spelled_words(choice))} - {"position", "all"}
        return not ideas.isdisjoint(self._ideas)

    def _values(self, argument: Argument) -> Sequence[str]:
        if argument.value_name in ("name", "value") and self._command.name == "setting":
            return self._setting(argument)
        if (argument.choices or argument.besides) and not self._has_own_lines(argument):
            listed = self._choice(argument)
            if listed or argument.choices:
                return listed
        kind = argument.metavar or argument.name.upper()
        read = _KINDS.get(kind)
        return [] if read is None else read(self, argument)

    def _has_own_lines(self, argument: Argument) -> bool:
        """`orders stop`, `trade why`: what such a word asks for is ranked by itself."""
        name = f"{' '.join(self._command.intent.command)} "
        return not argument.is_flag and any(row.line.startswith(name) for row in line_rows())

    def _setting(self, argument: Argument) -> Sequence[str]:
        given = [*self._numbers, *self._symbols, *self._sentence.names]
        given += [word for word in self._sentence.words if word in ("on", "off", "true", "false")]
        # Without a value to give it a setting is only shown, among all of them.
        return (
            (self._setting_named() if argument.value_name == "name" else given[:1]) if given else []
        )

    def _setting_named(self) -> Sequence[str]:
        """By the words of its name and of what it means."""
        from zuno_tui.app.settings_rows import MEANS

        said = {stem(word) for word in self._sentence.words if not is_plain(word)}
        scores = {
            name: 2 * len(said.intersection(map(stem, spelled_words(name))))
            + len(said.intersection(map(stem, spelled_words(means))))
            for name, means in MEANS.items()
        }
        best = [name for name, score in scores.items() if score and score == max(scores.values())]
        if len(best) != 1:
            raise UnclearSlotError("Which setting? `settings` lists them.", ["settings"])
        return best

    def _positions(self, argument: Argument) -> Sequence[str]:
        sentence, context = self._sentence, self._context
        if argument.value_name == "alert_id":
            return FILLERS["alert"]("alerts", sentence, context)
        name = self._command.name
        if argument.metavar == "ID|PHRASE" and sentence.amounts and not sentence.ids:
            self._numbers = []
            return FILLERS["create"](name, sentence, context)
        if argument.value_name in self._command.intent.defaults():
            meant = positions_meant(sentence, context)
            alone = meant.described and meant.sure and len(meant.ids) == 1
            return [position_name(meant.ids[0])] if alone else []
        if "all" in (argument.metavar or "") and sentence.has("all") and not sentence.ids:
            return ["all"]
        if argument.several:
            return [" ".join(FILLERS["each"](name, sentence, context))]
        return FILLERS["one"](name, sentence, context)

    def _symbol(self, argument: Argument) -> Sequence[str]:
        needed = argument.value_name not in self._command.intent.defaults()
        if not (needed or argument.several) and len(self._symbols) > 1:
            return []
        count = len(self._symbols) if argument.several else 1
        taken, self._symbols = self._symbols[:count], self._symbols[count:]
        return taken or (self._names(_LONGEST_SYMBOL)[:1] if needed else [])

    def _names(self, longest: int = 64) -> list[str]:
        words = (self._sentence.words[place] for place in self._unread)
        return [
            word.upper() if longest == _LONGEST_SYMBOL else word
            for word in words
            if len(word) <= longest
        ]

    def _number(self, argument: Argument) -> Sequence[str]:
        taken, self._numbers = self._numbers[:1], self._numbers[1:]
        every = "all" in (argument.metavar or "") and self._sentence.has("all")
        return taken or (["all"] if every else [])

    def _part(self, argument: Argument) -> Sequence[str]:
        if not self._sentence.percents:
            return []
        percent = self._sentence.percents[0]
        sign = "-" if percent.sign == "-" or self._sentence.has("falls") else ""
        share = "%" if argument.metavar == "SHARE" else ""
        return [f"{sign * (argument.metavar == 'PCT')}{plain(percent.value)}{share}"]

    def _span(self, _argument: Argument) -> Sequence[str]:
        seconds = self._sentence.seconds
        return [] if seconds is None else [span_text(seconds)]

    def _name(self, argument: Argument) -> Sequence[str]:
        named = [word for word in self._typed if _ADDRESS.fullmatch(word)]
        count = None if argument.several else 1
        needed = argument.value_name not in self._command.intent.defaults()
        words = self._sentence.words
        led = [words[at] for at in self._unread if needed or words[max(0, at - 1)] in _NAMING]
        return [*(named or self._sentence.names or led)][:count]

    def _file(self, _argument: Argument) -> Sequence[str]:
        bare = (word.rstrip(",;:!?") for word in self._typed)
        return [word for word in bare if _FILE.fullmatch(word)][:1]

    def _code(self, _argument: Argument) -> Sequence[str]:
        bare = (word.strip(".,;:!?") for word in self._typed)
        return [word for word in bare if _CODE.fullmatch(word)][:1]

    def _phrase(self, _argument: Argument) -> Sequence[str]:
        words = self._sentence.words
        marks = [place for place, word in enumerate(words) if word == '"']
        quoted = words[marks[0] + 1 : marks[-1]] if marks else ()
        return [shlex.quote(" ".join(quoted))] if quoted else []

    def _clock(self, _argument: Argument) -> Sequence[str]:
        clock = clock_of(self._sentence)
        return [clock] if clock else []

    def _where(self, _argument: Argument) -> Sequence[str]:
        where = FILLERS["where"](self._command.name, self._sentence, self._context)
        return [each.partition(" --")[0] for each in where]

    def _days(self, _argument: Argument) -> Sequence[str]:
        return list(self._sentence.days[:1])

    def _count(self, _argument: Argument) -> Sequence[str]:
        times = self._sentence.times
        return self._number(_argument) if times is None else [str(times)]

    def _into(self, _argument: Argument) -> Sequence[str]:
        protocols = [word for word in self._sentence.words if word in ("v3", "v4")]
        fee = self._sentence.fee
        return [*protocols[:1], *([] if fee is None else [f"{plain(fee)}%"])]


_KINDS: dict[str, Callable[[_LineFiller, Argument], Sequence[str]]] = {
    **dict.fromkeys(("ID", "ID|all", "ID|PHRASE"), _LineFiller._positions),
    **dict.fromkeys(("SYMBOL", "COIN", "TOKEN", "FOR"), _LineFiller._symbol),
    **dict.fromkeys(
        ("AMOUNT", "PRICE", "LOW", "HIGH", "N|all", "USD", "PORT"), _LineFiller._number
    ),
    **dict.fromkeys(("PCT", "PERCENT", "SHARE"), _LineFiller._part),
    **dict.fromkeys(("TIME", "4h", "28d"), _LineFiller._span),
    **dict.fromkeys(("WALLET", "NAME", "ADDRESS", "mode", "MODE", "WHO"), _LineFiller._name),
    **dict.fromkeys(("FILE", "PATH", "DIR", "RECORD"), _LineFiller._file),
    **dict.fromkeys(("DAY", "DATE"), _LineFiller._days),
    "WHEN": _LineFiller._clock,
    "CODE": _LineFiller._code,
    "PHRASE": _LineFiller._phrase,
    "WHERE": _LineFiller._where,
    "TO": _LineFiller._into,
    "N": _LineFiller._count,
}
