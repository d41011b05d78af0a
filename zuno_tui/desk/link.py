"""What the screen asks the desk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from zuno_tui.intents.intent import Intent

if TYPE_CHECKING:
    from chain.wallet.secrets import Passphrase


class DeskLink(Protocol):
    """Every method returns at once and may be called from any thread; answers come as events."""

    def ask(self, intent: Intent) -> None: ...

    def confirm(self, approval_hash: str, word: str, passphrase: Passphrase | None) -> None:
        """The word as it was typed; the passphrase is wiped whatever becomes of it."""

    def close(self) -> None: ...
