"""The environment of every test, whoever runs them: what a test needs besides, it sets itself."""

import os
from collections.abc import MutableMapping
from tempfile import TemporaryDirectory

_REMOVED = (
    *("PYTHON", "ZUNO_", "TEXTUAL_", "OPENAI_", "LC_", "TERM_PROGRAM", "CLICOLOR", "WATCHDOG_"),
    *("COLUMNS", "LINES", "LANGUAGE", "TZ", "NO_COLOR", "FORCE_COLOR", "COLORTERM"),
    *("TMUX", "VTE_VERSION", "KITTY_WINDOW_ID", "NOTIFY_SOCKET"),
)
"""What these begin with changes how Python, zuno or a terminal behaves."""

_KEPT = (
    # Where the tests find what they do not bring: a node, contracts, candles, a NATS server.
    *("ZUNO_ANVIL", "ZUNO_CACHE", "ZUNO_DATA", "ZUNO_NATS_SERVER"),
    # What the snapshots are told, by their plugin and by whoever takes them again.
    *("TEXTUAL_SNAPSHOT_", "ZUNO_KEEP_LOOKS"),
    # The tree whose lines are changed by `make mutants`.
    "PYTHONPATH",
)

_nobodys_home = TemporaryDirectory(prefix="zuno-home-")

_SET = {
    "TERM": "xterm-256color",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    # Else argparse looks on the disk for translations of each of its words.
    "LANGUAGE": "C",
    # Textual reads it while it is imported.
    "TEXTUAL_ANIMATIONS": "none",
    # Whoever tests a home brings one; the one of whoever runs the tests is not looked at.
    "ZUNO_HOME": _nobodys_home.name,
    # Nobody's prices are asked for over the network; a test that needs a market brings one.
    "ZUNO_DEFILLAMA_URL": "http://127.0.0.1:9",
    # A node that shares its core with a dozen others may be slow; one that hangs is said to.
    "ZUNO_ANSWER_SECONDS": "60",
    # A debate is shown to a test as it comes, not at a reader's pace.
    "ZUNO_READING_PACE": "0",
    # One chain serves many tests, each of which takes it back to where it began.
    "ZUNO_STATES_MB": "4000",
}


def set_environment(environment: MutableMapping[str, str] = os.environ) -> None:
    for name in list(environment):
        is_removed = name.startswith(_REMOVED) or name.endswith("_API_KEY")
        if is_removed and not name.startswith(_KEPT):
            del environment[name]
    environment.update(_SET)
