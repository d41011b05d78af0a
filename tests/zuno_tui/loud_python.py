"""A Python in which every logger speaks and functions crash talking, to find secrets by."""

import os
import sys
from pathlib import Path

from tests.chain.wallet.canary import seen_in
from tests.zuno_tui.terminal import Terminal

# Python runs this before the command: every logger speaks, and one function crashes talking.
_LOUD = '''
import importlib, logging, os, sys, threading

logging.basicConfig(level=logging.DEBUG, filename=os.environ["LOUD_LOG"], force=True)
place = os.environ.get("CRASH_AT")
if place:
    module, _, name = place.rpartition(".")

    def crash(*given, **named):
        told = [value.hex() if isinstance(value, bytes) else repr(value) for value in given]
        raise RuntimeError(f"crashed with {told}")

    class Breaker:
        """Breaks the function as soon as its module is there."""

        def find_spec(self, wanted, path=None, target=None):
            if wanted != module:
                return None
            sys.meta_path.remove(self)
            found = importlib.util.find_spec(wanted)
            execute = found.loader.exec_module
            def broken(loaded):
                execute(loaded)
                setattr(loaded, name, crash)
            found.loader.exec_module = broken
            return found

    import importlib.util
    sys.meta_path.insert(0, Breaker())
'''


def loud_environment(folder: Path) -> dict[str, str]:
    """For a person whose home is this folder."""
    loud = folder / "loud"
    loud.mkdir(exist_ok=True)
    (loud / "sitecustomize.py").write_text(_LOUD)
    return {
        **os.environ,
        "HOME": str(folder),
        "ZUNO_HOME": str(folder / "zuno"),
        "PYTHONPATH": os.pathsep.join([str(loud), *filter(None, sys.path)]),
        "LOUD_LOG": str(folder / "loud.log"),
        "ZUNO_DEBUG": "1",
    }


def seen_at_terminal(terminal: Terminal, out: str, words: str) -> list[str]:
    return [*seen_in(out), *seen_in(words), *seen_in(terminal.process_records)]
