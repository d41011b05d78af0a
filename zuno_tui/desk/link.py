"""What a screen holds of the desk: a door to ask through, which never makes it wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from chain.wallet.secrets import Passphrase
    from zuno_tui.catalog.command import Intent


class DeskLink(Protocol):
    """Every method returns at once and may be called from any thread; answers come as events."""

    def ask(self, intent: Intent) -> None: ...

    def confirm(self, approval_hash: str, word: str, passphrase: Passphrase | None) -> None:
        """The word as it was typed; the passphrase is wiped whatever becomes of it."""

    def close(self) -> None: ...
