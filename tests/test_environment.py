"""What the tests are run with, whoever runs them."""

import os
import subprocess
import sys

from tests.environment import set_environment


def test_wishes_of_whoever_runs_the_tests_are_not_heard() -> None:
    bare = {"HOME": "/home/ann", "PATH": "/bin", "ZUNO_CACHE": "/cache", "CI": "true"}
    wishes = ("PYTHONUNBUFFERED", "ZUNO_NETWORK", "LC_TIME", "COLUMNS", "NO_COLOR", "GROQ_API_KEY")
    theirs = {**bare, **dict.fromkeys(wishes, "1")}
    set_environment(theirs)
    set_environment(bare)

    assert theirs == bare


def test_a_child_sees_the_same() -> None:
    script = "import os; print('PYTHONUNBUFFERED' in os.environ, os.environ['LC_ALL'])"
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout

    assert told == f"False {os.environ['LC_ALL']}\n"
