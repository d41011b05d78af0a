"""Days as people write them, from a moment that is given."""

from datetime import UTC, datetime

import pytest

from zuno_tui.prompt.days import read_day

NOW = int(datetime(2026, 11, 17, 12, tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("March", (2027, 3, 1)),
        ("1 Dec", (2026, 12, 1)),
        ("Dec 1", (2026, 12, 1)),
        ("1 November", (2027, 11, 1)),
        ("2027-03-01", (2027, 3, 1)),
        ("3 March, 2028", (2028, 3, 3)),
    ],
)
def test_a_day(text: str, day: tuple[int, int, int]) -> None:
    assert read_day(text, NOW) == int(datetime(*day, tzinfo=UTC).timestamp())


@pytest.mark.parametrize(("text", "days"), [("14d", 14), ("in 2 weeks", 14), ("3 days", 3)])
def test_a_span(text: str, days: int) -> None:
    assert read_day(text, NOW) == NOW + days * 86_400


@pytest.mark.parametrize("text", ["", "soon", "32 Dec", "0x1", "Marchember"])
def test_no_day(text: str) -> None:
    assert read_day(text, NOW) is None
