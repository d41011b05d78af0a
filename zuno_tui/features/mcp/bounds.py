"""An answer as another agent gets it: a page of what is long, and strangers' words marked."""

import re

from chain.base.clean_text import clean_text
from zuno_tui.present.output import Json

MOST_CHARACTERS = 60_000
MOST_ROWS = 100
_MOST_TEXT = 500
_FOREIGN = re.compile(
    "symbol|name|label|pair|title|token|hook|pool|story|words|source|rationale|critique|summary|why"
    "|text|reason|trouble|remark|transcript|choice|dissent|assumption|prose|answer|question|said",
    re.IGNORECASE,
)
"""Under such keys text may come from a contract, a peer or a model."""
_OWN = re.compile(
    r"0x[0-9a-fA-F]*|[0-9.,:+-]*|[a-z]+[a-z0-9_]*"
    r"|[−+<~≈]?\$?[0-9][0-9.,%]*(?: – [0-9.,]+)?(?: [a-z×]{1,4})?"
)
"""Hashes, figures and codes: nothing that a stranger could say anything with."""


def page_of(document: Json, page: int = 1, *, foreign: bool = False) -> Json:
    """One page of the longest list, all else beside it, and how many pages there are."""
    for rows in (MOST_ROWS, 30, 10, 3):
        cut = _paged(document, page, rows, foreign=foreign)
        if len(repr(cut)) <= MOST_CHARACTERS:
            return cut
    return {"cut": "The answer is too long to be given whole. Ask for less of it."}


def _paged(document: Json, page: int, rows: int, *, foreign: bool) -> Json:
    if not isinstance(document, dict):
        return _cut(document, rows, "text" if foreign else "")
    lists = {name: value for name, value in document.items() if isinstance(value, list)}
    longest = max(lists, key=lambda name: len(lists[name]), default=None)
    whole = _cut(document, rows, "text" if foreign else "")
    if longest is None or len(lists[longest]) <= rows or not isinstance(whole, dict):
        return whole
    start, count = (page - 1) * rows, len(lists[longest])
    kept = [_cut(each, rows, longest) for each in lists[longest][start : start + rows]]
    pages = -(-count // rows)
    return {
        **whole,
        longest: kept,
        "paging": {"of": longest, "page": page, "pages": pages, "rows": count},
    }


def _cut(value: Json, rows: int, key: str) -> Json:
    if isinstance(value, dict):
        return {clean(name): _cut(each, rows, f"{key} {name}") for name, each in value.items()}
    if isinstance(value, list | tuple):
        kept: list[Json] = [_cut(each, rows, key) for each in value[:rows]]
        left = len(value) - rows
        return [*kept, f"… and {left} more, left out"] if left > 0 else kept
    if isinstance(value, str):
        text = clean(value)
        said = _FOREIGN.search(key) is not None and _OWN.fullmatch(text) is None
        return f"«{text}»" if said else text
    return value


def clean(text: str) -> str:
    return clean_text(text.replace("«", "‹").replace("»", "›"), limit=_MOST_TEXT)
