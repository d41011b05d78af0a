"""How a command ends when nobody is left to read what it prints."""

import os
import pty
import signal
import subprocess
import sys

import pytest


def _ended(stdout: int, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "zuno_tui", *words],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", [["--help"], ["glossary"]], ids=["help", "a command"])
def test_a_reader_that_left_is_no_fault(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert _ended(writing, *words) == (0, "")
    finally:
        os.close(writing)


def test_a_dropped_line_is_a_hang_up() -> None:
    master, slave = pty.openpty()
    os.close(master)
    try:
        assert _ended(slave, "--version") == (128 + signal.SIGHUP, "")
    finally:
        os.close(slave)


def test_a_full_disk_is_told() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        code, words = _ended(full, "--version")
    finally:
        os.close(full)

    assert code == 1
    assert "No space left on device" in words
