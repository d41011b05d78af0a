"""Text from chain, peers and servers made safe to show: no control bytes, no invisible tricks."""

import unicodedata

from msgspec import Struct

MESSAGE_LIMIT = 200
SYMBOL_LIMIT = 24
QUOTE_LIMIT = 60
"""How much of somebody else's words a sentence of ours repeats."""

DROP: dict[int, None] = dict.fromkeys(
    (
        *range(0x20),
        *range(0x7F, 0xA0),
        0x00AD,
        0x061C,
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2065),
        *range(0x2066, 0x206A),
        0xFEFF,
        *range(0xE0000, 0xE0080),
    )
)
"""For `str.translate`: what can steer a terminal, reverse a line or hide between letters."""

OWN_MARKS: dict[int, None] = dict.fromkeys(
    (
        *map(ord, '$!·•‣›‹»«“”„‟"`'),
        *range(0x2190, 0x2200),
        *range(0x2300, 0x2400),
        *range(0x2500, 0x27C0),
        *range(0x2900, 0x2980),
        *range(0x2B00, 0x2C00),
        *range(0x1F000, 0x1FB00),
    )
)
"""For `str.translate`: the arrows, ticks, boxes, prompts and quotes that only zuno may draw."""

# Letters, marks and symbols by category, yet drawn as nothing: they make two names look like one.
_BLANK = frozenset(
    (
        0x034F,
        0x115F,
        0x1160,
        0x17B4,
        0x17B5,
        0x2800,
        0x3164,
        0xFFA0,
        *range(0xFE00, 0xFE10),
        *range(0xE0100, 0xE01F0),
    )
)
_UNSHOWN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_MARKS = frozenset(("Mn", "Me", "Mc"))
# Dropped characters are not counted, so more than the limit is looked at, but never a megabyte.
_LOOKED_AT = 8


class CleanSymbol(Struct, frozen=True):
    """A token's symbol fit to show; cleaning makes fakes look perfect, so it says if it cleaned."""

    text: str
    altered: bool


def clean_text(raw: str | bytes, *, limit: int = MESSAGE_LIMIT) -> str:
    """One line of at most `limit` visible characters; an ellipsis marks what was cut."""
    if isinstance(raw, str) and len(raw) <= limit and _is_plain(raw):
        return raw
    window = _decoded(raw, limit)
    return _cut(_visible(window.text), limit, more=window.more)


def quoted(raw: str, *, limit: int = QUOTE_LIMIT) -> str:
    """Somebody else's words inside a sentence of ours, as “…”; empty when nothing can be shown.

    Without this a revert reason could end our sentence and go on with a hint that looks like ours.
    """
    text = without_own_marks(clean_text(raw, limit=max(limit, MESSAGE_LIMIT)))
    return f"“{_cut(text, limit, more=False)}”" if text else ""


def without_own_marks(text: str) -> str:
    """The same without any mark that zuno draws with, full-width forms of them included."""
    return _visible(unicodedata.normalize("NFKC", text).translate(OWN_MARKS))


def _is_plain(text: str) -> bool:
    """Whether cleaning would change nothing: most text is so, and need not be gone through."""
    spaced = "  " in text or text[:1] == " " or text[-1:] == " "
    return text.isascii() and text.isprintable() and not spaced


def clean_symbol(raw: str | bytes, *, limit: int = SYMBOL_LIMIT) -> CleanSymbol:
    """A symbol in compatibility form (NFKC), with a note if that differs from what was given."""
    window = _decoded(raw, limit)
    folded = unicodedata.normalize("NFKC", window.text)
    text = _cut(_visible(folded), limit, more=window.more)
    return CleanSymbol(text, altered=text != window.text)


class _Window(Struct, frozen=True):
    text: str
    more: bool


def _decoded(raw: str | bytes, limit: int) -> _Window:
    size = limit * _LOOKED_AT
    if isinstance(raw, bytes):
        head = raw[: size * 4]
        text = head.decode("utf-8", errors="replace")
        return _Window(text[:size], more=len(raw) > len(head) or len(text) > size)
    return _Window(raw[:size], more=len(raw) > size)


def _visible(text: str) -> str:
    """Whitespace becomes single spaces, unseen characters go, marks do not pile up."""
    kept: list[str] = []
    after_mark = False
    for character in text:
        if character.isspace():
            if kept and kept[-1] != " ":
                kept.append(" ")
            after_mark = False
            continue
        code = ord(character)
        category = unicodedata.category(character)
        if code in DROP or code in _BLANK or category in _UNSHOWN:
            continue
        is_mark = category in _MARKS
        if is_mark and after_mark:
            continue
        after_mark = is_mark
        kept.append(character)
    return "".join(kept).strip()


def _cut(text: str, limit: int, *, more: bool) -> str:
    if len(text) <= limit and not more:
        return text
    return text[: limit - 1].rstrip() + "…"
