"""Where signed bytes go: through a private endpoint and no other, or through the usual ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.rpc.errors import NoEndpoint

if TYPE_CHECKING:
    from chain.execution.journal_records import Dispatch
    from chain.rpc.reader import Reader


class NotThisWayError(NoEndpoint):
    """Bytes that were promised to a private endpoint, and another way, or none, is set now."""

    lasting = True

    def __init__(self, promised: str) -> None:
        super().__init__(
            f"It is sent through {promised} alone, and the settings do not name that now.",
            "Name it again under [send] in settings.toml, or in ZUNO_SEND_RPC.",
        )


@dataclass(frozen=True, slots=True)
class Route:
    endpoint: Reader
    private_host: str | None = None
    """Set when the settings name an endpoint for sends; the endpoint then is that one alone."""
    others: tuple[Reader, ...] = ()
    """Who gets the same bytes, too, once they have to be sent again: the first may swallow them."""

    def refusal(self, dispatch: Dispatch) -> NotThisWayError | None:
        """Why this dispatch may not go this way; anything may go a more private one."""
        promised = dispatch.private_host
        if promised is None or promised == self.private_host:
            return None
        return NotThisWayError(promised)
