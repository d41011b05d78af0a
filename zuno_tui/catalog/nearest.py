"""Whether what a command declares fits a sentence better than the grammar's row for it."""

from collections.abc import Sequence
from functools import cached_property

from zuno_tui.catalog.by_words import Path, Ranked, rank_commands
from zuno_tui.catalog.declared import DeclaredLine, declared_line
from zuno_tui.catalog.registry import CommandRegistry
from zuno_tui.catalog.typed_line import Interpretation, for_shell, may_look, read_line
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.phrase_error import Misunderstood
from zuno_tui.prompt.sentences import LikelyRow, likely_row
from zuno_tui.prompt.slots import Sentence, is_look, is_spoken_here

_OF_NAME, _OF_ROW, _OF_IDEA, _OF_UNUSED = 0.5, 1.5, 2.2, 1.5
"""What speaks for a row that filled its line, beside what its command declares."""
_OF_ANSWER, _OF_ACT, _OF_QUESTION = 2.0, 0.8, 0.7
_OF_CHOICES = 0.8
_SAYS = {"?": 0.4, "show": 0.4, "not": 0.5, "all": 0.5, "it": 0.3, "if": 0.5, "them": 0.5}
_SAYS |= dict.fromkeys(("#network", "#theme", "#term", "#unit"), 1.0)
_VALUE_SAYS, _SHARED = 0.25, 0.5
"""What an idea of a row says: most other words 1."""
_OF_VERB = 2.0
"""A command's own name at the start says more than any other word."""
_LEAD, _LEAST, _OFFERED = 0.6, 2.5, 1.2
"""How much better it must fit; what a look must have to run; what is worth a question."""
_MOST_CHOICES = 3
_BY_HAND = ("apply",)
"""What signs is typed, and never come to."""
_WHICH = "Did you mean one of these?"


class Nearest:
    """One sentence, what the grammar made of it, and the commands that are near to it."""

    def __init__(
        self,
        found: Interpretation,
        words: Sequence[str],
        sentence: Sentence,
        context: PhraseContext,
        commands: CommandRegistry,
    ) -> None:
        self._found, self._words, self._sentence = found, words, sentence
        self._context, self._commands = context, commands
        self._row = likely_row(sentence, context)
        self._path: Path = () if self._row is None else commands.path_of(self._row.line)

    def interpretation(self, by_verb: Misunderstood | None) -> Interpretation | None:
        """None where what the grammar found stays."""
        head = () if by_verb is None else self._commands.path_of(by_verb.understood)
        order = self._in_order(head)
        if not order or order[0].score < _OFFERED or self._is_settled():
            return None
        nearest = order[0]
        if by_verb is not None and by_verb.understood and self._found.misunderstood:
            return self._behind_verb(nearest, head, by_verb.unread)
        lead = _LEAD + _OF_CHOICES * bool(self._found.choices)
        if nearest.path == self._path or nearest.score - self._known(order) < lead:
            # A row without slots leaves the filling to its command.
            alone = self._row is not None and self._row.line.split() == [*self._path]
            has_line = self._found.intents or self._found.choices
            if not alone and (has_line or nearest.path != self._path):
                return None
            nearest = next((each for each in order if each.path == self._path), nearest)
        line = self._line(nearest)
        if nearest.path == self._path and self._found.intents:
            return self._with_more(line)
        return self._instead(line, nearest) or self._did_you_mean(order, line)

    def _behind_verb(
        self, nearest: Ranked, head: Path, unread: Sequence[str]
    ) -> Interpretation | None:
        """A command by its own name, with each word behind it; else what its verb says of them."""
        line = self._line(nearest)
        whole = self._whole(line)
        said = f" {line.line.lower()} "
        left = [
            word
            for word in map(str.lower, unread)
            if not (word in nearest.read or is_spoken_here(word) or f" {word} " in said)
        ]
        under = bool(head) and nearest.path[: len(head)] == head
        if not head or whole is None or line.unused or left or not (under or len(nearest.read) > 1):
            return None
        if self._is_typed_elsewhere(line):
            return None
        if may_look(whole, self._commands):
            return self._shown(whole, line)
        return Interpretation(question=_WHICH, choices=(whole.twin,), lines=(line.line,))

    def _in_order(self, head: Path) -> Sequence[Ranked]:
        order = [
            each for each in rank_commands(self._sentence, self._commands) if each.path != _BY_HAND
        ]
        if not head:
            return order
        raised = (
            each._replace(score=each.score + _OF_VERB * (each.path[: len(head)] == head))
            for each in order
        )
        return sorted(raised, key=lambda each: -each.score)

    def _is_settled(self) -> bool:
        sentence, wrong = self._sentence, self._found.misunderstood
        unclear = sentence.unread or sentence.unclear or (wrong is not None and wrong.firm)
        denied = self._found.answer is not None and sentence.has("not")
        explains = self._row is not None and self._row.line.startswith("help")
        return bool(unclear) or denied or explains

    def _known(self, order: Sequence[Ranked]) -> float:
        """What speaks for the row."""
        declared = next((each.score for each in order if each.path == self._path), 0.0)
        row, found = self._row, self._found
        if row is None:
            return declared
        evidence = self._evidence(row, order[0].read)
        answers = row.line[0] in "=?"
        if not (found.intents or answers or (found.choices and not is_look(row.verb))):
            return declared + _OF_QUESTION * evidence
        known = _OF_NAME * declared + _OF_ROW + _OF_IDEA * evidence
        return known + _OF_ANSWER * answers + _OF_ACT * self._acts - _OF_UNUSED * len(found.unused)

    def _evidence(self, row: LikelyRow, shared: frozenset[str]) -> float:
        """Words that speak for another command as well say less for this one."""
        words = {idea.name: self._sentence.words[idea.place] for idea in self._sentence.ideas}

        def says(idea: str) -> float:
            value = _VALUE_SAYS if idea[0] == "#" else 1.0
            return _SAYS.get(idea, value) * (_SHARED if words.get(idea) in shared else 1)

        return sum(map(says, row.needs)) + sum(map(says, row.hints)) / 2

    @cached_property
    def _acts(self) -> bool:
        return any(not may_look(intent, self._commands) for intent in self._found.intents)

    def _line(self, nearest: Ranked) -> DeclaredLine:
        return declared_line(nearest, self._words, self._sentence, self._context, self._commands)

    def _whole(self, line: DeclaredLine) -> Intent | None:
        """As the desk reads it, else as a shell does; None where something is missing."""
        if line.missing:
            return None
        typed = read_line(tuple(line.line.split()), self._context, self._commands)
        if not isinstance(typed, Misunderstood):
            return typed
        whole = self._commands.paths()[line.path].intent.from_words(line.words)
        reads = bool(line.words) and whole is not None and may_look(whole, self._commands)
        return whole if reads or self._is_typed_elsewhere(line) else None

    def _with_more(self, line: DeclaredLine) -> Interpretation | None:
        """The command of the row, with what else was said."""
        if line.missing:
            return Interpretation(question=line.missing)
        whole, found = self._whole(line), self._found
        if whole is None or whole == found.intents[0] or (line.unused and not found.unused):
            return None
        if not (self._acts or may_look(whole, self._commands)):
            # A word of a look makes no act of it: both are offered.
            twins = (whole.twin, found.intents[0].twin)
            offers = Interpretation(question=_WHICH, choices=twins, lines=(line.line, *found.lines))
            return None if self._denies() else offers
        return self._shown(whole, line)

    def _instead(self, line: DeclaredLine, nearest: Ranked) -> Interpretation | None:
        """A look that fits much better, or what only a shell runs."""
        whole, found = self._whole(line), self._found
        if whole is None or not (nearest.score >= _LEAST or nearest.path == self._path):
            return None
        if self._is_typed_elsewhere(line):
            return Interpretation(misunderstood=for_shell(line.line))
        asks = self._row is not None and not is_look(self._row.verb)
        loses = bool(line.unused) and (asks or bool(found.intents and not found.unused))
        if self._acts or loses or not may_look(whole, self._commands):
            return None
        return self._shown(whole, line)

    def _shown(self, whole: Intent, line: DeclaredLine) -> Interpretation:
        runs = may_look(whole, self._commands) and not line.unused
        return Interpretation((whole,), (line.line,), runs=runs, unused=line.unused)

    def _is_typed_elsewhere(self, line: DeclaredLine) -> bool:
        """What only a shell runs, and settings that the prompt does not change."""
        for_shell_alone = self._commands.paths(for_shell=True)
        return line.path in for_shell_alone or (line.path == ("setting",) and len(line.words) > 1)

    def _did_you_mean(self, order: Sequence[Ranked], best: DeclaredLine) -> Interpretation | None:
        """The nearest commands as whole lines to choose from; what is denied is not offered."""
        found = self._found
        if best.missing and found.intents and not self._acts:
            return None
        twins = (*found.choices, *(intent.twin for intent in found.intents))
        offered = dict(zip(twins, found.lines, strict=False))
        known = len(offered)
        for nearest in order[:_MOST_CHOICES]:
            line = self._line(nearest)
            whole = self._whole(line)
            if whole is not None and self._may_offer(whole, line, nearest):
                offered.setdefault(whole.twin, line.line)
        if len(offered) > known:
            question = found.question or _WHICH
            return Interpretation(
                question=question, choices=tuple(offered), lines=tuple(offered.values())
            )
        unknown = best.missing and not (found.intents or found.question)
        return Interpretation(question=best.missing) if unknown else None

    def _denies(self) -> bool:
        return self._sentence.has("not", "keep") or "unless" in self._sentence.words

    def _may_offer(self, whole: Intent, line: DeclaredLine, nearest: Ranked) -> bool:
        # `positions that your endpoint cannot find`: of this command it is no denial.
        denied = self._denies() and "cannot" not in self._commands.paths()[nearest.path].does
        fits = nearest.score >= _OFFERED and not line.unused and not self._is_typed_elsewhere(line)
        return fits and not (denied and not may_look(whole, self._commands))
