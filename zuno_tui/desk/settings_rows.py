"""What is set, and by whom: the file, the environment, a flag, or nobody. Secrets are not told."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct, to_builtins

from chain.contracts.checksum import checksummed
from zuno_tui.settings import Flags, Settings, SettingsError, load_settings
from zuno_tui.shown.views import SettingRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from zuno_tui.session.session import Session

_SECRET_TABLES = ("telegram", "webhook")
_OPEN_TABLES = ("model", "debate", "limits", "monitor", "screen", "keys", "retention")
_SECRET_NAMES = ("key", "token", "secret", "url", "base_url")


class _Layers(Struct, frozen=True):
    """The same settings as they would be with fewer voices heard."""

    now: Settings
    from_environment: Settings
    from_file: Settings

    def origin(self, of: Callable[[Settings], object]) -> str:
        if of(self.now) != of(self.from_environment):
            return "this run"
        if of(self.from_environment) != of(self.from_file):
            return "environment"
        return "settings.toml" if of(self.from_file) != of(Settings()) else "default"


def setting_rows(session: Session, environment: Mapping[str, str]) -> tuple[SettingRow, ...]:
    path = session.home.settings
    layers = _Layers(
        session.settings,
        load_settings(path, environment, Flags()),
        load_settings(path, {}, Flags()),
    )
    return tuple(_rows(session, layers, environment))


def _rows(
    session: Session, layers: _Layers, environment: Mapping[str, str]
) -> Iterator[SettingRow]:
    now, network = layers.now, session.network
    yield SettingRow("network", network.title, layers.origin(lambda each: each.network))
    address = "the wallet in use" if now.address is None else checksummed(now.address)
    yield SettingRow("address", address, layers.origin(lambda each: each.address))
    yield SettingRow("unit", now.unit.value.lower(), layers.origin(lambda each: each.unit))
    urls = (*now.endpoints_for(network), *now.sockets_for(network))
    hosts = ", ".join(map(_host, urls)) or "none"
    yield SettingRow(
        f"rpc.{network.name}", hosts, layers.origin(lambda each: each.endpoints.get(network.name))
    )
    private = now.send_endpoint_for(network)
    yield SettingRow(
        f"send.{network.name}",
        "the same" if private is None else _host(private),
        layers.origin(lambda each: each.send_endpoint_for(network)),
    )
    yield _model_key(now, environment)
    for name in _OPEN_TABLES:
        table = to_builtins(getattr(now, name))
        yield SettingRow(name, _words(table) or "the usual", _of_file(table))
    for name in _SECRET_TABLES:
        table = to_builtins(getattr(now, name))
        named = any(key.startswith(f"ZUNO_{name.upper()}_") for key in environment)
        origin = "environment" if named else _of_file(table)
        yield SettingRow(name, "set" if table or named else "not set", origin)


def _model_key(now: Settings, environment: Mapping[str, str]) -> SettingRow:
    from zuno_tui.settings.models import model_choices

    try:
        key = model_choices(now.model, environment)[0].values["key"]
    except SettingsError as error:
        return SettingRow("model key", str(error), _of_file(to_builtins(now.model)))
    return SettingRow("model key", key.shown, key.origin)


def _host(url: str) -> str:
    """Of an endpoint only whom it names: the rest of a URL may be a key."""
    return urlsplit(url).hostname or "set"


def _words(table: Mapping[str, object]) -> str:
    return ", ".join(
        f"{name} = {'set' if name in _SECRET_NAMES else _short(value)}"
        for name, value in table.items()
    )


def _short(value: object) -> str:
    if isinstance(value, dict):
        return "{" + _words(value) + "}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_file(table: Mapping[str, object]) -> str:
    return "settings.toml" if table else "default"
