"""Nobody waits here for a gateway to change its mind."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _sent_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chain.execution.outbox.delivery._TRIED_AGAIN", (0.0, 0.0, 0.0))
