"""A long read is spoken of now and then, a short one not at all."""

from __future__ import annotations

from chain.read.logs import ScanProgress
from zuno_tui.app.positions import reading_progress


def test_it_is_told_every_few_seconds() -> None:
    moments = iter([0.0, 1.0, 6.0, 6.0, 8.0, 12.0, 12.0])
    told: list[str] = []
    heard = reading_progress(told.append, lambda: next(moments))
    for scanned in (10, 50, 60, 90):
        heard(ScanProgress(1, 100, scanned, 1000 * scanned))
    assert len(told) == 2
    assert "50%" in told[0]
    assert "50,000" in told[0]
    assert "90%" in told[1]
