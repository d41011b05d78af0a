"""A person at a terminal who types secrets, each when it is asked for."""

import getpass
import io
import sys

import pytest


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def types(monkeypatch: pytest.MonkeyPatch, *secrets: str) -> None:
    left = iter(secrets)
    monkeypatch.setattr(sys, "stdin", _Terminal())
    monkeypatch.setattr(getpass, "getpass", lambda _question: next(left))
