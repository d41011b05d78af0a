"""A forked process is the process a person would start."""

import os
import subprocess
import sys

import pytest

from tests.fork_server import fork_server


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--version"], 0), (["locate", "--json"], 0), (["nonsense"], 2)]
)
def test_it_says_what_a_process_of_its_own_says(arguments: list[str], code: int) -> None:
    environment = {**os.environ, "ZUNO_HOME": "/nonexistent/zuno"}
    real = subprocess.run(
        [sys.executable, "-m", "zuno_tui", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    forked = fork_server().run("zuno_tui", *arguments, environment=environment)
    assert forked.returncode == real.returncode == code
    assert (forked.stdout, forked.stderr) == (real.stdout, real.stderr)
