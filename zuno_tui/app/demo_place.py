"""Where the demo that runs now is to be found, so that commands in another shell speak to it."""

import os
import shlex
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from chain.base.errors import Failure, ZunoError
from chain.base.home import Home, write_atomically

EMBEDDED_NETWORK = "devnet"
"""What alerts and plans of the demo name it as, in the commands they print."""
_FILE = "demo.json"
_MOST_BYTES = 4_096
_PATIENCE_SECONDS = 3.0
_GENESIS = b'{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0x0",false]}'
_CHOSEN_BY = ("ZUNO_NETWORK", "ZUNO_RPC", "ZUNO_ADDRESS")


class DemoSlowError(ZunoError):
    """It runs and does not answer: to go on elsewhere would be another network, unasked."""

    failure: ClassVar[Failure] = Failure.NETWORK


class DemoEndedError(ZunoError):
    """It was killed: said once, before a command goes to another network."""

    failure: ClassVar[Failure] = Failure.NETWORK


class DemoPlace(Struct, frozen=True):
    """A demo that runs, as the file of it says."""

    pid: int
    url: str
    genesis: str
    """The hash of its first block: another chain may answer at the same port later."""
    wallet: str
    home: str

    @property
    def words(self) -> str:
        return f"Using the demo that runs here ({self.url}, process {self.pid})."


@contextmanager
def registered_demo(place: DemoPlace, homes: Sequence[Home]) -> Iterator[str]:
    """Found by others for as long as the block lasts, by the command that is yielded.

    A home has the demo that came first: another that runs beside it is found by its own home.
    """
    files = [home.root / _FILE for home in homes if not _is_taken(home)]
    for file in files:
        # A home that cannot be written to hides the demo, and keeps nobody from it.
        with suppress(OSError):
            write_atomically(file, msgspec.json.encode(place))
    by_home = "" if _read(homes[0].root / _FILE) == place else f" --home {shlex.quote(place.home)}"
    try:
        yield f"zuno{by_home}"
    finally:
        for file in files:
            if _read(file) == place:
                file.unlink(missing_ok=True)


def _is_taken(home: Home) -> bool:
    try:
        return running_demo(home) is not None
    except DemoSlowError:
        return True


def at_running_demo(
    arguments: Namespace, home: Home, environment: Mapping[str, str]
) -> tuple[Namespace, DemoPlace] | None:
    """The same command at the demo, where nothing else is chosen and one runs."""
    elsewhere = arguments.network not in (None, EMBEDDED_NETWORK)
    if elsewhere or arguments.rpc or arguments.address:
        return None
    if any(environment.get(name) for name in _CHOSEN_BY):
        return None
    if not (home.root / _FILE).is_file() or _chooses_network(home):
        return None
    place = running_demo(home)
    if place is None:
        raise DemoEndedError(
            "The demo that ran here was ended from outside; nothing of it is left. "
            "Start it again: zuno demo\nOr choose a network: zuno --network NAME"
        )
    chosen = {"network": EMBEDDED_NETWORK, "rpc": place.url, "address": place.wallet}
    home_of_demo = type(home.root)(place.home)
    return Namespace(**{**vars(arguments), **chosen, "home": home_of_demo}), place


def running_demo(home: Home) -> DemoPlace | None:
    """The demo registered in a home; one that is over is ignored, and its file removed."""
    file = home.root / _FILE
    place = _read(file)
    if place is not None and _is_alive(place.pid):
        found = genesis_at(place.url)
        if found == place.genesis:
            return place
        if found is None:
            raise DemoSlowError(
                f"The demo is slow: process {place.pid} runs, and {place.url} did not answer in "
                f"{_PATIENCE_SECONDS:g} s. Try again, or choose a network: zuno --network NAME\n"
                f"If no demo runs here, remove {file}"
            )
    with suppress(OSError):
        file.unlink(missing_ok=True)
    return None


def genesis_at(url: str) -> str | None:
    """The hash of the first block of the chain that answers here; None where none does."""
    from http.client import HTTPConnection, HTTPException

    parts = urlsplit(url)
    if parts.scheme != "http" or parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        return None
    connection = HTTPConnection(parts.hostname, parts.port, timeout=_PATIENCE_SECONDS)
    try:
        connection.request("POST", "/", _GENESIS, {"content-type": "application/json"})
        answer = msgspec.json.decode(connection.getresponse().read(1 << 20))
        return str(answer["result"]["hash"])
    except (OSError, HTTPException, msgspec.DecodeError, TypeError, KeyError):
        return None
    finally:
        connection.close()


def _chooses_network(home: Home) -> bool:
    """Whether a wallet, a network or an endpoint is set; how things are shown chooses none.

    What cannot be read, or is not known here, may name one: then the demo stays away.
    """
    from chain.wallet.address_book import read_book
    from zuno_tui.settings import SettingsError
    from zuno_tui.settings.load import read_settings_file
    from zuno_tui.settings.of_features import feature_tables
    from zuno_tui.settings.schema import SharedTables

    try:
        written = read_settings_file(home.settings)
    except FileNotFoundError:
        written = {}
    except SettingsError:
        return True
    monitor = written.get("monitor")
    watched = monitor if isinstance(monitor, dict) else {}
    return bool(
        read_book(home.keystore).wallets
        or written.keys() - {"unit", *SharedTables.__struct_fields__, *feature_tables()}
        or watched.get("networks")
        # `base:7` is a position on a network; `3:7` is one of v3.
        or any(":" in name.removeprefix("3:") for name in watched.get("positions", ()))
    )


def _read(file: Path) -> DemoPlace | None:
    """None for what is missing, damaged, or written by somebody else."""
    try:
        if file.stat().st_uid != os.getuid():
            return None
        with file.open("rb") as opened:
            return msgspec.json.decode(opened.read(_MOST_BYTES), type=DemoPlace)
    except (OSError, msgspec.DecodeError):
        return None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid > 0
