"""Which other language a phrase is in, by its script or by its smallest words; none is read."""

import re
import unicodedata
from functools import cache
from importlib.resources import files

_SCRIPTS = {
    "CJK": "Chinese",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "HANGUL": "Korean",
    "CYRILLIC": "Russian or Ukrainian",
    "ARABIC": "Arabic",
    "HEBREW": "Hebrew",
    "GREEK": "Greek",
    "DEVANAGARI": "Hindi",
    "THAI": "Thai",
}
_WORD = re.compile(r"[^\W\d_]+")
_LEAST_WORDS = 2


def other_language(text: str) -> str | None:
    """None of English, and of what is too short to tell."""
    scripts = {_script_of(letter) for letter in text if letter.isalpha() and not letter.isascii()}
    named = [language for script, language in _SCRIPTS.items() if script in scripts]
    if named:
        # Japanese is written with Chinese signs, too.
        return "Japanese" if "Japanese" in named else named[0]
    words = {word.lower() for word in _WORD.findall(text)}
    foreign = any(not word.isascii() for word in words)
    hits = {language: len(words & known) for language, known in _small_words().items()}
    likeliest = max(hits, key=lambda language: hits[language])
    return likeliest if hits[likeliest] >= _LEAST_WORDS - foreign else None


def may_deny(text: str) -> bool:
    """Whether a word of it denies or leaves out in any of these languages."""
    words = {word.lower() for word in _WORD.findall(text)}
    signs = any(sign in text for sign in _DENYING_SIGNS)
    return signs or not words.isdisjoint(_DENYING)


_DENYING = frozenset(
    """nicht kein keine keinen nie außer ausser ohne no nunca excepto menos sin salvo ne pas jamais
    sauf não nunca exceto menos sem non mai tranne eccetto senza değil hariç niet geen nooit behalve
    zonder nie nigdy oprócz bez bukan jangan tidak kecuali tanpa không đừng trừ not except без не
    кроме нет لا ليس إلا""".split()  # noqa: SIM905
)
_DENYING_SIGNS = (
    "不",
    "别",
    "別",
    "没",
    "沒",
    "除",
    "ない",
    "しない",
    "以外",
    "안 ",
    "말",
    "제외",
    "않",
)


def _script_of(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0].partition("-")[0]


@cache
def _small_words() -> dict[str, frozenset[str]]:
    """Words that a phrase hardly does without, and that are none in English."""
    lines = files("zuno_tui.prompt").joinpath("languages.txt").read_text("utf-8").splitlines()
    parted = (line.partition(":") for line in lines)
    return {language: frozenset(words.split()) for language, _, words in parted}
