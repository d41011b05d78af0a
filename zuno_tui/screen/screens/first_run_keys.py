"""Keys that were made or brought in the first minute, held until they are kept or forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chain.wallet.secrets import Passphrase, PrivateKey


class BroughtKeys:
    def __init__(self) -> None:
        self.keys: tuple[PrivateKey, ...] = ()
        """Of a seed phrase those of several accounts, else one."""
        self.passphrase: Passphrase | None = None

    @property
    def knows_passphrase(self) -> bool:
        """Whether there is one that is long enough to keep a key under."""
        from zuno_tui.app.wallet_secrets import is_long_enough

        return self.passphrase is not None and is_long_enough(self.passphrase)

    def bring(self, *keys: PrivateKey) -> None:
        self.keys = keys

    def choose(self, place: int) -> None:
        """This one alone; the others are wiped."""
        for other in (*self.keys[:place], *self.keys[place + 1 :]):
            other.wipe()
        self.keys = (self.keys[place],)

    def is_passphrase(self, typed: bytes) -> bool:
        """Whether the same was typed again."""
        from chain.wallet.secrets import Passphrase

        with Passphrase(typed) as again:
            return self.passphrase is not None and self.passphrase.equals(again)

    def forget(self) -> None:
        for key in self.keys:
            key.wipe()
        self.keys = ()
        self.forget_passphrase()

    def forget_passphrase(self) -> None:
        if self.passphrase is not None:
            self.passphrase.wipe()
        self.passphrase = None
