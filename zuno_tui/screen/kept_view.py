"""How the desk was left: the pane in front, and the order and the filter of its rows."""

from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from chain.base.home import write_atomically


class KeptView(Struct, frozen=True, rename="camel"):
    front: str = "positions"
    order: str = ""
    """Empty as it is at first."""
    filter: str = ""
    hides_empty: bool = False


def read_kept_view(path: Path) -> KeptView:
    """A comfort like the history: where it cannot be read the desk opens as at first."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(path.read_bytes(), type=KeptView)
    return KeptView()


def write_kept_view(path: Path, view: KeptView) -> None:
    with suppress(OSError):
        write_atomically(path, msgspec.json.encode(view))
