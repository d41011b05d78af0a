"""Style sheets parsed once for all the apps that tests start in their process."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

_parse = Stylesheet._parse_rules
_parsed: dict[tuple[object, ...], list[RuleSet]] = {}


@contextmanager
def styles_parsed_once() -> Iterator[None]:
    with patch.object(Stylesheet, "_parse_rules", _parse_once):
        yield


def _parse_once(
    sheet: Stylesheet,
    css: str,
    read_from: tuple[str, str],
    is_default_rules: bool = False,
    tie_breaker: int = 0,
    scope: str = "",
) -> list[RuleSet]:
    """What a sheet makes of its words and its theme's colours, which no app changes afterwards."""
    given = (css, read_from, is_default_rules, tie_breaker, scope)
    place = (frozenset(sheet._variables.items()), *given)
    if place not in _parsed:
        _parsed[place] = _parse(sheet, *given)
    return _parsed[place]
