"""What the person chose: `settings.toml`, then the environment, then flags; the last one wins."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, cast

from msgspec import field
from msgspec.structs import replace

from chain.base.secret_struct import SecretStruct
from chain.base.spelling import nearest
from chain.contracts.networks import Network, UnknownNetworkError, network_named
from chain.prices.price import WorthUnit

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from chain.contracts.networks import Address


class SettingsError(ValueError):
    """A setting that cannot be used; the message names it, its place and what it may be."""


def refuse_unknown(name: str, table: Mapping[str, object], known: Collection[str]) -> None:
    for key in table:
        if key not in known:
            may = ", ".join(sorted(known))
            raise SettingsError(f"[{name}] has an unknown setting {key!r}. It may hold {may}.")


def checked_text(value: object, place: str) -> str:
    if not isinstance(value, str) or not value:
        raise SettingsError(f"{place} must be a text.")
    return value


def checked_url(value: object, place: str) -> str:
    """It may hold a key: the message does not repeat it."""
    text = checked_text(value, place).strip()
    if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", text):
        raise SettingsError(f"{place} must be a URL that starts with http:// or https://.")
    return text


def checked_endpoints(urls: Sequence[object], place: str) -> tuple[str, ...]:
    """What is read through, and beside it, as wss://, who announces new blocks."""
    checked = tuple(
        url.strip()
        if isinstance(url, str) and _SOCKET_URL.fullmatch(url.strip())
        else checked_url(url, place)
        for url in urls
    )
    if all(map(_SOCKET_URL.fullmatch, checked)):
        raise SettingsError(
            f"{place} names only a wss:// URL. It announces new blocks; "
            "to read them, put an https:// URL beside it."
        )
    return checked


def checked_switch(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise SettingsError(f"{place} is {value!r}, but it may be true or false.")
    return value


_SOCKET_URL = re.compile(r"wss?://[^\s/]+(/\S*)?")

MOST_BYTES = 1 << 18
MOST_NESTING = 8
"""The deepest setting there is has four levels."""

_MEND = "Mend it or move it away."


def read_settings_file(path: Path) -> dict[str, object]:
    """What the file holds; FileNotFoundError where there is none."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        text = data.decode("utf-8")
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}.") from error
    if len(data) > MOST_BYTES:
        raise SettingsError(f"{path} has more than {MOST_BYTES:,} bytes. {_MEND}")
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise _too_deep(path) from None
    except ValueError as error:
        # A number of thousands of digits is a ValueError that tomllib does not make its own.
        raise SettingsError(f"{path} is not valid TOML: {error}. {_MEND}") from error
    if not _within(table, MOST_NESTING):
        raise _too_deep(path)
    return table


def _too_deep(path: Path) -> SettingsError:
    return SettingsError(f"{path} nests its tables or lists more than {MOST_NESTING} deep. {_MEND}")


def _within(value: object, levels: int) -> bool:
    inner = (
        list(value.values())
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else None
    )
    if inner is None:
        return True
    return levels > 0 and all(_within(one, levels - 1) for one in inner)


_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_SHOWN = 12
_KNOWN_KEYS = (
    *("network", "address", "unit", "rpc", "alone", "send", "coingecko", "debate", "model"),
    *("limits", "monitor", "telegram", "webhook", "screen", "keys", "retention"),
)


class Settings(SecretStruct, frozen=True):
    network: str = "ethereum"
    address: Address | None = None
    unit: WorthUnit = WorthUnit.USD
    # URLs may hold API keys: they are never part of a repr, and so of no log or traceback.
    endpoints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    alone: bool = False
    """Whether one endpoint may vouch for a signature while the others set are silent."""
    sends: Mapping[str, str] = field(default_factory=dict)
    """By network the one endpoint that signed transactions go through, where one is named."""
    coingecko_url: str = "https://api.coingecko.com/api/v3"
    coingecko_key: str | None = None
    debate: Mapping[str, object] = field(default_factory=dict)
    model: Mapping[str, object] = field(default_factory=dict)
    """The tables of these names as they were written; `debates` reads them."""
    limits: Mapping[str, object] = field(default_factory=dict)
    """Likewise; the gate reads it."""
    monitor: Mapping[str, object] = field(default_factory=dict)
    """Likewise; `monitor` reads it."""
    telegram: Mapping[str, object] = field(default_factory=dict)
    webhook: Mapping[str, object] = field(default_factory=dict)
    """Likewise; `channels` reads them."""
    screen: Mapping[str, object] = field(default_factory=dict)
    keys: Mapping[str, object] = field(default_factory=dict)
    """Likewise; `look` reads them."""
    retention: Mapping[str, object] = field(default_factory=dict)
    """Likewise; `retention` reads it."""

    def chosen_network(self) -> Network:
        try:
            return network_named(self.network)
        except UnknownNetworkError as error:
            raise SettingsError(str(error)) from error

    def endpoints_for(self, network: Network) -> tuple[str, ...]:
        """What is read through."""
        chosen = self.endpoints.get(network.name) or network.endpoints
        return tuple(url for url in chosen if not _SOCKET_URL.fullmatch(url))

    def sockets_for(self, network: Network) -> tuple[str, ...]:
        """Who announces new blocks."""
        chosen = self.endpoints.get(network.name, ())
        return tuple(url for url in chosen if _SOCKET_URL.fullmatch(url))

    def send_endpoint_for(self, network: Network) -> str | None:
        return self.sends.get(network.name)


class Flags(SecretStruct, frozen=True):
    """The global flags of one command."""

    network: str | None = None
    rpc: str | None = None
    address: str | None = None
    unit: str | None = None
    alone: bool = False


def load_settings(path: Path, environment: Mapping[str, str], flags: Flags) -> Settings:
    settings = _from_file(path)
    # First of all, because endpoints given for this run belong to the network of this run.
    if network := flags.network or environment.get("ZUNO_NETWORK"):
        settings = replace(settings, network=network)
    settings = _from_environment(settings, environment)
    return _from_flags(settings, flags)


def _from_file(path: Path) -> Settings:
    try:
        table = read_settings_file(path)
    except FileNotFoundError:
        return Settings()
    for key in table:
        if key not in _KNOWN_KEYS:
            meant = nearest(key, _KNOWN_KEYS)
            hint = "" if meant is None else f" Did you mean {meant!r}?"
            raise SettingsError(f"{path} has an unknown setting {key!r}.{hint}")
    settings = Settings()
    if "network" in table:
        settings = replace(settings, network=checked_text(table["network"], "network"))
    if "address" in table:
        settings = replace(settings, address=_address(checked_text(table["address"], "address")))
    if "unit" in table:
        settings = replace(settings, unit=_unit(checked_text(table["unit"], "unit")))
    if "rpc" in table:
        settings = replace(settings, endpoints=_endpoints(table["rpc"]))
    if "alone" in table:
        settings = replace(settings, alone=checked_switch(table["alone"], "alone"))
    if "send" in table:
        settings = replace(settings, sends=_send_endpoints(table["send"]))
    if "coingecko" in table:
        settings = _coingecko(settings, table["coingecko"])
    return replace(
        settings,
        debate=_table(table.get("debate", {})),
        model=_table(table.get("model", {})),
        limits=_table(table.get("limits", {})),
        monitor=_table(table.get("monitor", {})),
        telegram=_table(table.get("telegram", {})),
        webhook=_table(table.get("webhook", {})),
        screen=_table(table.get("screen", {})),
        keys=_table(table.get("keys", {})),
        retention=_table(table.get("retention", {})),
    )


def _table(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise SettingsError("[debate], [model], [limits], [screen] and their like must be tables.")
    return value


def _from_environment(settings: Settings, environment: Mapping[str, str]) -> Settings:
    if address := environment.get("ZUNO_ADDRESS"):
        settings = replace(settings, address=_address(address))
    if unit := environment.get("ZUNO_UNIT"):
        settings = replace(settings, unit=_unit(unit))
    if url := environment.get("ZUNO_COINGECKO_URL"):
        settings = replace(settings, coingecko_url=checked_url(url, "ZUNO_COINGECKO_URL"))
    if key := environment.get("ZUNO_COINGECKO_KEY"):
        settings = replace(settings, coingecko_key=key)
    if rpc := environment.get("ZUNO_RPC"):
        settings = _with_endpoint(settings, rpc, "ZUNO_RPC")
    if private := environment.get("ZUNO_SEND_RPC"):
        name = settings.chosen_network().name
        private = checked_url(private, "ZUNO_SEND_RPC")
        settings = replace(settings, sends={**settings.sends, name: private})
    return settings


def _from_flags(settings: Settings, flags: Flags) -> Settings:
    if flags.address:
        settings = replace(settings, address=_address(flags.address))
    if flags.unit:
        settings = replace(settings, unit=_unit(flags.unit))
    if flags.alone:
        settings = replace(settings, alone=True)
    if flags.rpc:
        settings = _with_endpoint(settings, flags.rpc, "--rpc")
    return settings


def _with_endpoint(settings: Settings, urls: str, place: str) -> Settings:
    """Endpoints given for this run belong to the network of this run and replace its others."""
    name = settings.chosen_network().name
    chosen = checked_endpoints(urls.split(","), place)
    return replace(settings, endpoints={**settings.endpoints, name: chosen})


def _endpoints(table: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(table, dict):
        raise SettingsError('[rpc] must name networks, like: base = ["https://…"].')
    chosen: dict[str, tuple[str, ...]] = {}
    for name, value in table.items():
        urls = [value] if isinstance(value, str) else value
        if not isinstance(urls, list) or not urls:
            raise SettingsError(f"rpc.{name} must be a URL or a list of URLs.")
        chosen[_network_in("rpc", name)] = checked_endpoints(urls, f"rpc.{name}")
    return chosen


def _send_endpoints(table: object) -> dict[str, str]:
    if not isinstance(table, dict):
        raise SettingsError('[send] must name networks, like: base = "https://…".')
    # One only: which of several sees a transaction first would be nobody's choice.
    return {
        _network_in("send", name): checked_url(url, f"send.{name}") for name, url in table.items()
    }


def _network_in(table: str, name: object) -> str:
    try:
        return network_named(str(name)).name
    except UnknownNetworkError as error:
        raise SettingsError(f"[{table}] {error}") from error


def _coingecko(settings: Settings, table: object) -> Settings:
    if not isinstance(table, dict) or not set(table) <= {"url", "key"}:
        raise SettingsError("[coingecko] may hold url and key, nothing else.")
    entries = cast("dict[str, object]", table)
    if "url" in entries:
        settings = replace(settings, coingecko_url=checked_url(entries["url"], "coingecko.url"))
    if "key" in entries:
        settings = replace(settings, coingecko_key=checked_text(entries["key"], "coingecko.key"))
    return settings


def _address(text: str) -> Address:
    if not _ADDRESS.fullmatch(text.strip()):
        # Cut short, since what stands in an address's place may be a key.
        raise SettingsError(
            f"{text[:_SHOWN]!r} is not an address: 0x and 40 hexadecimal digits are needed."
        )
    return text.strip().lower()


def _unit(text: str) -> WorthUnit:
    try:
        return WorthUnit(text.strip().upper())
    except ValueError:
        raise SettingsError(f"unit is {text!r}, but it may be usd or eth.") from None
