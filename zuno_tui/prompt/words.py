"""A sentence as words, numbers and marks, and the ideas its words stand for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from msgspec import Struct, convert

from chain.base.clean_text import clean_text
from chain.base.spelling import one_slip_apart, slips
from chain.base.units import NumeralError, read_numeral, spelled_out
from chain.protocols.reference import PositionRef, read_position_ref
from zuno_tui.intents.pieces import LONGEST_PHRASE

_PIECE = re.compile(
    r"""
      (?P<id>     \# [0-9]{1,77} | (?<![0-9.,:]) 3:[0-9]{1,52} (?![0-9]|[.,:][0-9]) )
    | (?P<comma>  [0-9]+,[0-9]{1,2} (?![0-9]) )
    | (?P<number> (?P<sign> (?<![0-9a-z%)]) [-+] )? (?P<dollar> \$ )?
                  (?P<digits> [0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?
                            | [0-9]*\.[0-9]+ | [0-9]+ )
                  (?P<scale> [km] (?![0-9a-z]) )? )
    | (?P<name>   [a-z0-9-]+ \.eth\b )
    | (?P<word>   [a-z₮&] [a-z0-9₮&]* (?: \.e\b )? )
    | (?P<mark>   ± | \+\s?/?\s?- | ->|=>|→ | [^\s\w] )
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_COIN = r"(?=w?eth(?:er|ereum)?\b|(?:w|cb)?btc\b|bitcoin|wrapped (?:eth|bit))"
_MONTHS = r"(?=(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:[a-z]{3,6})?\b)"
_ORDINALS = """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
thirteenth fourteenth fifteenth""".split()  # noqa: SIM905
_SPOKEN_FIGURES = tuple(
    (re.compile(spoken), written)
    for spoken, written in (
        (r"\bwrapped (?:eth|ether|ethereum)\b", "weth"),
        (r"\bwrapped (?:btc|bitcoin)\b", "wbtc"),
        # What is said beside a wish and wishes nothing.
        (r"\b(?:and|or) (?:so (?:on|forth)|such|the like|all that|whatnot)\b", ""),
        (
            r",? ?\bi (?:think|guess|believe|suppose|reckon)\b(?: so)?(?! (?:about|of|it)\b)",
            "",
        ),
        (
            r"\b(?:just )?(?:for fun|out of curiosity|to be honest|by the way|on earth|the hell)\b",
            "",
        ),
        (r"\bgood (?:morning|evening|afternoon|day)\b,?", ""),
        (r",? ?\bbefore (?:i|we) [a-z ]*(?=[,.?!]|$)", ""),
        (r"\b(?:until|till|up to) now\b", "so far"),
        (r"\bnothing is \w+ing\b", ""),
        (
            r"^i(?: am|\b)(?: would)?(?: rather)? ?(?:can(?:no|')t|cannot|not|wont|do not)\b"
            r"(?![^,.;]*(?:[0-9]|\bsell|\bswap|\btrade|\bclose|\bwant\b))[^,.;]*[,.;](?: so)? ",
            "",
        ),
        (r",? (?:and )?(?:not|no) (?:the )?wrapped(?: \w+)?(?=[,.?!]|$)", ""),
        (
            r"\b(?:as|in|into|give(?: me)?|get(?: me)?|want)(?: it)? (?:plain|real|native|raw) "
            r"(?:eth(?:er)?|coin)\b(?! (?:pool|position|lp|one))(?!.*\bweth)(?<!weth)",
            "as eth",
        ),
        (r"\bgive (?:the )?eth(?:er)? back (?:plain|native)\b", "as eth"),
        (r"\bover to (?![$0-9])", "to "),
        (r"\b(?:not|never) (?:\w+ )?more than\b|\bno more than\b", "at most"),
        (r"\ba (?=(?:hundred|thousand|million)\b)", "one "),
        (r"\bremain(?:ing)? (?=long|short)", "stay "),
        (r"\bnew year(?: s eve)?\b", "31 dec"),
        (r"\b(?:invite|invitation|join|web) links?\b", "invitation"),
        (r"\b(?:no|nr|num)\.? ?(?=#?[0-9])", "number "),
        (r"\bonce more\b", "again"),
        (r"\bnative (?=(?:to|into) weth\b)|\bnative (?:coin|asset|token|form)\b", "eth "),
        (r",? ?\b(?:at |just )?once(?=[,.!?]|$)", ""),
        (r"\b(?:every |each )?(?:other week|fortnight)\b", "every 14 days"),
        (r"\bquarter of an hour\b", "15 minutes"),
        (r"\bhalf an hour\b|\bhalf hour\b", "30 minutes"),
        (r"\bhalf a day\b", "12 hours"),
        (rf"\bhalf (?:of )?an? {_COIN}", "0.5 "),
        (rf"\bthree quarters of an? {_COIN}", "0.75 "),
        (rf"\bquarter of an? {_COIN}", "0.25 "),
        (r"\bbasis points?\b", "bps"),
        (rf"\bshould (?=(?:it|the|price|{_COIN[3:-1]})\b)(?!.*\?)", "if "),
        (r"\bstaying (?=long|short)", "stay "),
        (r"\bthe (?:whole )?lot\b", "all"),
        (r",? (?:rather than|instead of|than) (?:in )?(?:wrapped|dollars|usd)\b", ""),
        (r"\bonce (?:an?|each|per|every) (?=hour|day|week|month)", "every "),
        (rf"\b([0-9]{{1,2}}){_MONTHS}", r"\1 "),
        *((rf"\b{word} (?:of )?{_MONTHS}", f"{day} ") for day, word in enumerate(_ORDINALS, 1)),
    )
)
_CONTRACTIONS = tuple(
    (re.compile(short), whole)
    for short, whole in (
        (r"\b(ca|wo)n't\b", r"\1nt"),
        (r"n't\b", " not"),
        (r"(?<=[a-z])'d\b", " would"),
        (r"(?<=[a-z])'ve\b", " have"),
        (r"(?<=[a-z])'ll\b", " will"),
        (r"(?<=[a-z])'re\b", " are"),
        (
            r"\b(he|she|it|that|what|where|who|there|here|how|when|why|(?:no|any|some|every)thing)'s\b",
            r"\1 is",
        ),
        (r"(?<=[a-z]{3})(?<!\blet)'s\b", ""),
    )
)
_ANY_POOL = re.compile(
    r"\b(into|in) an? (?=\S+(?: ?/ ?\S+)?(?: [\d.]+ ?%)? (?:pool|position|lp)\b)"
)
_SMALL = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
_UNITS = {word: value for value, word in enumerate(_SMALL.split())}
_TENS = {
    word: 10 * value
    for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)  # noqa: SIM905
}
_SCALES = {"hundred": 2, "thousand": 3, "grand": 3, "k": 3, "million": 6, "mil": 6, "mln": 6}
_SHORTEST_MENDED, _LONG_VERB = 5, 8
_SMALLEST_WORDED = 10
"""Below ten a word is seldom a number by itself: `the one`, `the two of them`."""


class SentenceToken(NamedTuple):
    text: str
    """A word in lower case, a mark, or a number in plain digits."""
    number: Fraction | None = None
    sign: str = ""
    dollars: bool = False
    scaled: bool = False
    is_id: bool = False
    glued: str = ""
    """The word that follows a number without a space."""

    @property
    def is_whole(self) -> bool:
        return self.number is not None and self.text.isdigit()

    @property
    def ref(self) -> PositionRef | None:
        """The position that it may be the name of."""
        return None if self.number is None else read_position_ref(self.text)


class Grammar(Struct, frozen=True, forbid_unknown_fields=True):
    looks: frozenset[str]
    dropped: str
    same: str
    leads: str
    plain: str
    joining: str
    needs: dict[str, str]
    choices: dict[str, str]
    """Other words for what an option may be."""
    verbs: dict[str, str]
    words: dict[str, str]


@cache
def grammar() -> Grammar:
    text = files("zuno_tui.prompt").joinpath("grammar.toml").read_text("utf-8")
    return convert(tomllib.loads(text), Grammar)


def tokens_of(text: str) -> tuple[SentenceToken, ...]:
    """The pieces of a text in lower case; numbers in words and scales are made digits."""
    shown = clean_text(text, limit=LONGEST_PHRASE).lower().replace("’", "'").replace("–", "-")
    shown = re.sub(r"(?<=[0-9])'?s\b", "", shown)
    for short, whole in _CONTRACTIONS:
        shown = short.sub(whole, shown)
    shown = shown.replace("'", "").replace("..", " - ")
    shown = re.sub(r"(?<=[a-z])-(?=[a-z])", " ", shown)
    for spoken, written in _SPOKEN_FIGURES:
        shown = spoken.sub(written, shown)
    shown = _ANY_POOL.sub(r"\1 new ", shown)
    raw = [_mended(_token(match, shown)) for match in _PIECE.finditer(shown)]
    known = _with_verb_mended([*_without_dropped(raw)])
    return _with_shared_scale(tuple(_with_number_words(known)))


def _with_verb_mended(tokens: list[SentenceToken]) -> list[SentenceToken]:
    """`colect 33`, `can you reccomend 26`: where no verb is named, the only one it nearly is."""
    words = [token.text for token in tokens]
    if any(idea.is_verb for idea in find_ideas(words)):
        return tokens
    found = ((place, _near_verb(word)) for place, word in enumerate(words))
    near = [(place, verb) for place, verb in found if verb is not None]
    if len(near) != 1:
        return tokens
    place, verb = near[0]
    return [*tokens[:place], SentenceToken(verb), *tokens[place + 1 :]]


def _near_verb(word: str) -> str | None:
    # `closed` tells of what was done.
    if len(word) < _SHORTEST_MENDED or word.endswith("ed") or is_spoken(word):
        return None
    near = {verb for verb in _verb_words() if one_slip_apart(word, verb)}
    long = (verb for verb in _verb_words() if len(verb) >= _LONG_VERB and verb[0] == word[0])
    near = near or {verb for verb in long if slips(word, verb) <= 2}
    return near.pop() if len(near) == 1 else None


def _mended(token: SentenceToken) -> SentenceToken:
    """`balnce`: a word that is one slip from only one other; verbs are mended more carefully."""
    word = token.text
    short = len(word) < _SHORTEST_MENDED - 1 or not word.isalpha()
    if token.number is not None or short or is_spoken(word) or word in _NAMES or word in _same():
        return token
    return SentenceToken(_meant_word(word) or word)


@lru_cache(maxsize=256)
def _meant_word(word: str) -> str | None:
    verbs = _verb_words()
    known = _topic_words() | verbs
    slipped = [each for each in known if one_slip_apart(word, each)]
    near = [each for each in slipped if len(each) >= _SHORTEST_MENDED]
    near = near or [each for each in slipped if sorted(each) == sorted(word)]
    # Two slips only in words so long that no other is meant.
    long = (each for each in known if len(each) >= _LONG_VERB and each[0] == word[0])
    near = near or [each for each in long if slips(word, each) <= 2]
    # A hand seldom slips on both ends of a word: `weeky` is no `weeks`.
    ends = [each for each in near if each[0] + each[-1] == word[0] + word[-1]]
    near = ends if len(near) > 1 and len(ends) == 1 else near
    return near[0] if len(near) == 1 and near[0] not in verbs else None


@cache
def _topic_words() -> frozenset[str]:
    """Single words of the grammar but verbs, those too that say nothing, and plurals."""
    forms = (form.strip() for written in grammar().words.values() for form in written.split(","))
    words = {*forms, *_plain_words(), *_same(), *_PERIOD_WORDS, *_PROFILE_WORDS}
    # Of forms of several words only those so long that no other is meant.
    words |= {word for word in _single_words() - _verb_words() if len(word) >= _LONG_VERB}
    return frozenset(word for word in words if len(word) >= _SHORTEST_MENDED - 1 and word.isalpha())


@cache
def _single_words() -> frozenset[str]:
    return frozenset(word for forms in _forms().values() for form, _ in forms for word in form)


def is_spoken(word: str) -> bool:
    """Whether the grammar has it, alone or in a form of several words, or says it says nothing."""
    return any(is_plain(each) or each in _spoken_words() for each in (word, *stems_of(word)))


@cache
def _spoken_words() -> frozenset[str]:
    return _single_words() | _UNITS.keys() | _TENS.keys() | _SCALES.keys()


def is_plain(word: str) -> bool:
    return word in _plain_words()


@cache
def _plain_words() -> frozenset[str]:
    return frozenset((*grammar().plain.split(), *grammar().leads.split())) | _dropped()


_NAMES = frozenset(("ether", "pounds", "actively"))
"""Words with a meaning of their own that are one slip from another."""
_PERIOD_WORDS = frozenset(("between", "hours", "weeks", "months", "minutes", "percent", "thousand"))
_PROFILE_WORDS = frozenset(("conservative", "balanced", "aggressive"))
_DOUBLED = re.compile(r"([b-df-hj-np-tv-z])\1$")


def stems_of(word: str) -> tuple[str, ...]:
    """What `closing`, `swapping` and `earns` may be forms of; `closed` tells, and asks nothing."""
    if word.endswith("ing"):
        stem = word.removesuffix("ing")
        return stem, f"{stem}e", _DOUBLED.sub(r"\1", stem)
    return (word.removesuffix("s"),) if word.endswith("s") else ()


@cache
def _verb_words() -> frozenset[str]:
    forms = (form.strip() for written in grammar().verbs.values() for form in written.split(","))
    return frozenset(form for form in forms if len(form) >= _SHORTEST_MENDED and " " not in form)


_GLUED = re.compile(r"[a-z]\w*")


def _token(match: re.Match[str], shown: str) -> SentenceToken:
    behind = _GLUED.match(shown, match.end())
    glued = "" if behind is None else behind[0]
    if match["id"]:
        ref, text = read_position_ref(match["id"]), match["id"].removeprefix("#")
        number = Fraction(0 if ref is None else ref.token_id)
        return SentenceToken(text, number, is_id=True, glued=glued)
    if match["number"] is None:
        return SentenceToken(
            match["name"] or match["word"] or match["comma"] or match["mark"].replace(" ", "")
        )
    try:
        numeral = read_numeral(f"{match['digits']}{match['scale'] or ''}")
    except NumeralError:
        return SentenceToken(match["digits"])
    return SentenceToken(
        spelled_out(numeral),
        numeral.value,
        match["sign"] or "",
        dollars=bool(match["dollar"]),
        scaled=bool(match["scale"]),
        glued=glued,
    )


def _without_dropped(tokens: Sequence[SentenceToken]) -> Iterator[SentenceToken]:
    same, dropped = _same(), _dropped()
    for token in tokens:
        if token.number is not None:
            yield token
        elif token.text in same:
            yield from map(SentenceToken, same[token.text])
        elif token.text not in dropped:
            yield token


@cache
def _same() -> dict[str, list[str]]:
    pairs = (pair.split("=") for pair in grammar().same.split(","))
    return {word.strip(): meant.split() for word, meant in pairs}


@cache
def _dropped() -> frozenset[str]:
    return frozenset(grammar().dropped.split())


def _with_number_words(tokens: list[SentenceToken]) -> Iterator[SentenceToken]:
    """`thirty five` as 35, `two hundred` as 200, `5 grand` as 5000; `one` and `two` stay words."""
    at = 0
    while at < len(tokens):
        value, end = _worded(tokens, at)
        if value is None:
            yield tokens[at]
            at += 1
            continue
        scaled, half = False, [token.text for token in tokens[end : end + 3]]
        if half[:2] == ["and", "half"] and half[2:] and half[2] in _SCALES:
            # `three and a half thousand`
            value, end = value + Fraction(1, 2), end + 2
        while end < len(tokens) and tokens[end].text in _SCALES:
            value *= 10 ** _SCALES[tokens[end].text]
            scaled, end = True, end + 1
        if not scaled and end == at + 1 and tokens[at].number is not None:
            yield tokens[at]
        else:
            yield SentenceToken(plain(value), value, dollars=tokens[at].dollars, scaled=scaled)
        at = end


def plain(value: Fraction, places: int = 8) -> str:
    """A number in plain digits, rounded to so many places."""
    units = round(value * 10**places)
    whole, rest = divmod(units, 10**places)
    fraction = f"{rest:0{places}d}".rstrip("0")
    return f"{whole}.{fraction}" if fraction else str(whole)


def _worded(tokens: Sequence[SentenceToken], at: int) -> tuple[Fraction | None, int]:
    token = tokens[at]
    follows = tokens[at + 1].text if at + 1 < len(tokens) else ""
    if token.number is not None:
        return token.number, at + 1
    if token.text in _TENS:
        unit = _UNITS.get(follows, 0)
        joined = 0 < unit < _SMALLEST_WORDED
        return Fraction(_TENS[token.text] + unit * joined), at + 1 + joined
    value = _UNITS.get(token.text)
    pair = at + 2 < len(tokens) and tokens[at + 2].text == "/"
    halved = follows != "and" or [token.text for token in tokens[at + 2 : at + 3]] == ["half"]
    counted = follows in _COUNTED and not pair and halved
    if value is not None and (value >= _SMALLEST_WORDED or counted):
        return Fraction(value), at + 1
    return None, at


_COUNTED = _SCALES.keys() | frozenset(
    [
        "and",
        "bps",
        "dollar",
        "dollars",
        "bucks",
        "ether",
        "bitcoin",
        "day",
        "week",
        "month",
        "percent",
        "eth",
        "weth",
        "btc",
        "wbtc",
        "usdc",
        "usdt",
        "hours",
        "hour",
        "days",
        "weeks",
        "months",
        "minutes",
        "times",
        "moves",
    ]
)


def _with_shared_scale(tokens: tuple[SentenceToken, ...]) -> tuple[SentenceToken, ...]:
    """`2.8-3.4k` and `between 2.8 and 3.4k`: the scale of the second is the first's too."""
    shared = list(tokens)
    for at in range(len(tokens) - 2):
        low, join, high = tokens[at : at + 3]
        if low.number is None or high.number is None or low.scaled or not high.scaled:
            continue
        thousand = low.number * 1000
        if join.text in ("-", "and", "to", "/", "&") and thousand <= high.number:
            shared[at] = low._replace(text=plain(thousand), number=thousand, scaled=True)
    return tuple(shared)


class Idea(NamedTuple):
    name: str
    place: int
    """Of its first word."""
    is_verb: bool


def find_ideas(words: Sequence[str]) -> tuple[Idea, ...]:
    """From left to right the longest form that begins at each word, with all it can mean."""
    found: list[Idea] = []
    forms, at = _forms(), 0
    while at < len(words):
        behind = tuple(words[at:])
        spelled = ((word, *behind[1:]) for word in (behind[0], *stems_of(behind[0])))
        form, names = next(filter(None, (_longest(each, forms) for each in spelled)), ((), ()))
        # `it exits` tells, and asks nothing.
        tells = form[:1] == (behind[0].removesuffix("s"),) and form[0] != behind[0]
        meant = (Idea(name, at, name in grammar().verbs) for name in names)
        found += (idea for idea in meant if not (tells and idea.is_verb))
        at += max(1, len(form))
    return tuple(found)


Form = tuple[tuple[str, ...], tuple[str, ...]]
"""Words, and the names of what they can mean."""


def _longest(words: tuple[str, ...], forms: dict[str, list[Form]]) -> Form | None:
    known = forms.get(words[0], ())
    return next((form for form in known if words[: len(form[0])] == form[0]), None)


@cache
def _forms() -> dict[str, list[Form]]:
    """By their first word, the longest first."""
    known = grammar()
    names: dict[tuple[str, ...], list[str]] = {}
    for name, written in {**known.words, **known.verbs}.items():
        for form in written.split(","):
            words = tuple(_form_words(form))
            if words and name not in names.setdefault(words, []):
                names[words].append(name)
    by_first: dict[str, list[Form]] = {}
    for words, ideas in sorted(names.items(), key=lambda item: -len(item[0])):
        by_first.setdefault(words[0], []).append((words, tuple(dict.fromkeys(ideas))))
    return by_first


def spelled_words(text: str) -> tuple[str, ...]:
    """The words of a text of ours, as those of a sentence are read."""
    plain = re.sub(r"[^a-z0-9₮&]+", " ", text.lower().replace("'", ""))
    return tuple(_form_words(plain))


def _form_words(form: str) -> Iterator[str]:
    for word in form.split():
        if word not in _dropped():
            yield from _same().get(word, [word])


_ENDING = re.compile(r"(?:ies|ing|ed|es|s|ly|e|y)$")
_SHORTEST_STEM, _SHORTEST_WITH_ENDING = 3, 4


@cache
def stem(word: str) -> str:
    if len(word) < _SHORTEST_WITH_ENDING:
        return word
    short = _DOUBLED.sub(r"\1", _ENDING.sub("", word))
    return short if len(short) >= _SHORTEST_STEM else word
