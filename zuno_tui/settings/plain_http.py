"""Plain http: whoever is on the line reads what it carries, and may change what comes back."""

from urllib.parse import urlsplit

from zuno_tui.settings.check import SettingsError

THIS_MACHINE = frozenset(("127.0.0.1", "::1", "localhost"))


def is_plain(url: str) -> bool:
    """Whether it leaves this machine unencrypted."""
    parts = urlsplit(url.strip())
    host = (parts.hostname or "").rstrip(".")
    return parts.scheme in ("http", "ws") and host not in THIS_MACHINE


def refuse_plain(url: str, place: str, secret: str) -> None:
    """Refuse to send a secret where everybody on the line can read it."""
    if is_plain(url):
        raise SettingsError(
            f"{place} is plain http, and {secret} would travel over it for everybody on the line "
            "to read. Write an address that begins with https.",
            place,
        )
