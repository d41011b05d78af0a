"""An answer as another agent gets it: a page of what is long, and strangers' words marked."""

import re

from chain.base.clean_text import clean_text
from zuno_tui.present.output import Json

MOST_CHARACTERS = 60_000
MOST_ROWS = 100
_MOST_TEXT = 500
_FOREIGN = re.compile(
    "symbol|name|label|pair|title|token|hook|pool|story|words|source|rationale|critique|summary|why"
    "|text|reason|trouble|remark|message|detail|note|headline|lines|transcript|choice|dissent|assumption|prose|answer|question|said",
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
    for rows in (MOST_ROWS, 30, 10, 3, 1):
        # So many that every page fits: each page begins where the one before it ended.
        pages = range(1, _page_count(document, rows) + 1)
        if all(
            len(repr(_paged(document, each, rows, foreign=foreign))) <= MOST_CHARACTERS
            for each in pages
        ):
            return _paged(document, page, rows, foreign=foreign)
    raise TooLongError


class TooLongError(Exception):
    """No row of it fits into an answer."""


def _longest_list(document: Json) -> str | None:
    if not isinstance(document, dict):
        return None
    lists = {name: value for name, value in document.items() if isinstance(value, list)}
    return max(lists, key=lambda name: len(lists[name]), default=None)


def _page_count(document: Json, rows: int) -> int:
    name = _longest_list(document)
    if name is None or not isinstance(document, dict):
        return 1
    listed = document[name]
    return max(1, -(-len(listed) // rows)) if isinstance(listed, list) else 1


def _paged(document: Json, page: int, rows: int, *, foreign: bool) -> Json:
    longest, key = _longest_list(document), "text" if foreign else ""
    listed = document[longest] if isinstance(document, dict) and longest is not None else None
    if not isinstance(document, dict) or not isinstance(listed, list) or len(listed) <= rows:
        return _cut(document, rows, key)
    others = {name: _cut(each, rows, name or key) for name, each in document.items()}
    start, count, pages = (page - 1) * rows, len(listed), _page_count(document, rows)
    kept = [_cut(each, rows, f"{key} {longest}") for each in listed[start : start + rows]]
    return {
        **others,
        str(longest): kept,
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
