"""What the person chose: `settings.toml`, then the environment, then flags; the last one wins."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, cast

from msgspec import field
from msgspec.structs import replace

from chain.base.clean_text import SecretStruct
from chain.contracts.networks import Address, Network, UnknownNetworkError, network_named
from chain.prices.price import WorthUnit
from zuno_tui.settings.check import (
    SettingsError,
    UnfitError,
    UnknownSetting,
    check_as,
    refuse_plain,
    without_unknown,
)
from zuno_tui.settings.of_features import feature_tables, settings_file
from zuno_tui.settings.schema import (
    AnswerSeconds,
    DemoTable,
    OwnAddress,
    SettingsTable,
    SharedTables,
    checked_url,
    network_called,
)

if TYPE_CHECKING:
    from chain.rpc.requests import RequestLimits

FeatureTable = TypeVar("FeatureTable", bound=SettingsTable)

RENAMED = {
    f"model.{role}": f"model.roles.{role}.name"
    for role in ("scout", "strategist", "critic", "arbiter")
}
"""Old names, with the new ones; both written with dots."""
SUPERSEDED = {"limits.value_eth": "limits.value_usd"}
"""What still holds, with what takes its place: another unit, so nothing is carried over."""


def with_new_names(written: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
    """The file as today's names have it, and a warning for each old one."""
    tables, warnings = _copied(written), []
    for old, new in RENAMED.items():
        value = _take_out(tables, old)
        if value is None:
            continue
        warnings.append(f"{old} is called {new} now. The old name still holds: write the new one.")
        _put(tables, new, value)
    for old, new in SUPERSEDED.items():
        *path, name = old.split(".")
        if name in (_table(tables, path, make=False) or {}):
            warnings.append(f"{old} still holds, and {new} takes its place: write that one.")
    return tables, tuple(warnings)


def _copied(table: Mapping[str, object]) -> dict[str, object]:
    return {
        key: _copied(value) if isinstance(value, Mapping) else value for key, value in table.items()
    }


def _take_out(tables: dict[str, object], place: str) -> object | None:
    """The value, taken out; a table is no value."""
    *path, name = place.split(".")
    table = _table(tables, path, make=False)
    if table is None or isinstance(table.get(name), dict):
        return None
    return table.pop(name, None)


def _put(tables: dict[str, object], place: str, value: object) -> None:
    """What is written by the new name, too, is left as it is."""
    *path, name = place.split(".")
    table = _table(tables, path, make=True)
    if table is not None:
        table.setdefault(name, value)


def _table(tables: dict[str, object], path: list[str], *, make: bool) -> dict[str, object] | None:
    table = tables
    for name in path:
        inner = table.setdefault(name, {}) if make else table.get(name)
        if not isinstance(inner, dict):
            return None
        table = inner
    return table


VARIABLES: Mapping[str, str] = {
    "network": "ZUNO_NETWORK",
    "address": "ZUNO_ADDRESS",
    "unit": "ZUNO_UNIT",
    "rpc": "ZUNO_RPC",
    "send": "ZUNO_SEND_RPC",
    "coingecko.url": "ZUNO_COINGECKO_URL",
    "coingecko.key": "ZUNO_COINGECKO_KEY",
    "defillama.url": "ZUNO_DEFILLAMA_URL",
    "limits.answer_seconds": "ZUNO_ANSWER_SECONDS",
    "debate.profile": "ZUNO_RISK_PROFILE",
    "debate.rounds": "ZUNO_MAX_DEBATE_ROUNDS",
    "debate.deterministic": "ZUNO_DETERMINISTIC",
    "debate.transport": "ZUNO_TRANSPORT",
    "model.name": "ZUNO_AGENT_MODEL",
    "telegram.token": "ZUNO_TELEGRAM_TOKEN",
    "telegram.chat": "ZUNO_TELEGRAM_CHAT",
    "telegram.url": "ZUNO_TELEGRAM_URL",
    "webhook.url": "ZUNO_WEBHOOK_URL",
    "webhook.secret": "ZUNO_WEBHOOK_SECRET",
    "demo.anvil": "ZUNO_ANVIL",
    "screen.theme": "ZUNO_THEME",
    "screen.reading_pace": "ZUNO_READING_PACE",
}
"""By a setting's place in the file; `rpc` and `send` are those of the network of the run."""


def variable_of(place: str) -> str | None:
    """The variable that goes before a setting like `limits.daily_usd`; None where none does."""
    return VARIABLES.get(place) or VARIABLES.get(place.partition(".")[0])


def environment_value(environment: Mapping[str, str], place: str) -> str | None:
    """What the environment says in a setting's stead; one that is empty says nothing."""
    return environment.get(VARIABLES[place]) or None


class TransportChoice(StrEnum):
    AUTO = "auto"
    """On the mesh where all of it answers, else in this process, with the reason."""
    MESH = "mesh"
    LOCAL = "local"


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


_SOCKET_URL = re.compile(r"wss?://[^\s/]+(/\S*)?")

MOST_BYTES = 1 << 18
MOST_NESTING = 8
"""The deepest setting there is has four levels."""

_MEND = "Correct it or move it away."


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
    return levels > 0 and all(_within(value, levels - 1) for value in inner)


class Settings(SharedTables, frozen=True):
    network: str = "ethereum"
    address: Address | None = None
    unit: WorthUnit = WorthUnit.USD
    # URLs may hold API keys: they are never part of a repr, and so of no log or traceback.
    endpoints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sends: Mapping[str, str] = field(default_factory=dict)
    """By network the one endpoint that signed transactions go through, where one is named."""
    coingecko_url: str = "https://api.coingecko.com/api/v3"
    coingecko_key: str | None = None
    defillama_url: str = "https://coins.llama.fi"
    of_features: Mapping[str, SettingsTable] = field(default_factory=dict)
    """By the names of their tables."""

    renamed: tuple[str, ...] = ()
    """A sentence for each setting that is written by its old name."""
    not_understood: tuple[UnknownSetting, ...] = ()
    """Nothing is signed while there is any: it may be a limit that is misspelt."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is to be said at the start."""
        return (*self.renamed, *(setting.sentence for setting in self.not_understood))

    def table(self, kind: type[FeatureTable]) -> FeatureTable:
        """What the file says in the table of a feature."""
        found = (table for table in self.of_features.values() if isinstance(table, kind))
        return next(found, kind())

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

    @property
    def request_limits(self) -> RequestLimits:
        """How long endpoints are waited for."""
        from chain.rpc.requests import RequestLimits

        seconds = self.limits.answer_seconds
        return RequestLimits() if seconds is None else RequestLimits().answering_within(seconds)


class Flags(SecretStruct, frozen=True):
    """The global flags of one command."""

    network: str | None = None
    rpc: str | None = None
    address: str | None = None
    unit: str | None = None
    alone: bool = False
    transactions: Literal["auto", "one", "steps"] | None = None
    """Whether plans of several steps are sent as one transaction."""
    deterministic: bool = False
    """Whether no model is asked for anything."""


def load_settings(path: Path, environment: Mapping[str, str], flags: Flags) -> Settings:
    """Every table is checked, whoever will read it: a mistake does not wait for its day.

    A name that this version does not know may be of another version: it is left out, and told.
    """
    try:
        written, renamed = with_new_names(read_settings_file(path))
        known, unknown = without_unknown(settings_file(), written)
        settings = replace(
            _from_file(cast("Mapping[str, object]", known)),
            renamed=renamed,
            not_understood=tuple(
                replace(setting, sentence=f"{path}: {setting.sentence}") for setting in unknown
            ),
        )
    except FileNotFoundError:
        settings = Settings()
    except SettingsError as error:
        words = str(error) if str(path) in str(error) else f"{path}: {error}"
        raise SettingsError(words, error.place) from None
    # First of all, because endpoints given for this run belong to the network of this run.
    if network := flags.network or environment_value(environment, "network"):
        settings = replace(settings, network=network)
    settings = _from_environment(settings, environment)
    if settings.coingecko_key is not None:
        refuse_plain(settings.coingecko_url, "coingecko.url", "its key")
    return _from_flags(settings, flags)


def checked_file(written: Mapping[str, object]) -> Settings:
    """What a file would set; SettingsError where anything in it does not fit."""
    settings = _from_file(written)
    settings.chosen_network()
    return settings


def _from_file(written: Mapping[str, object]) -> Settings:
    file = check_as(settings_file(), written)
    default = Settings()
    return Settings(
        network=default.network if file.network is None else file.network,
        address=None if file.address is None else _address(file.address, "address"),
        unit=default.unit if file.unit is None else _unit(file.unit),
        endpoints={
            _network("rpc", name): checked_endpoints(_listed(urls), f"rpc.{name}")
            for name, urls in file.rpc.items()
        },
        # One only: which of several sees a transaction first would be nobody's choice.
        sends={_network("send", name): url.strip() for name, url in file.send.items()},
        coingecko_url=(file.coingecko.url or default.coingecko_url).strip(),
        coingecko_key=file.coingecko.key,
        defillama_url=(file.defillama.url or default.defillama_url).strip(),
        of_features={name: getattr(file, name) for name in feature_tables()},
        **{name: getattr(file, name) for name in SharedTables.__struct_fields__},
    )


def _listed(urls: str | tuple[str, ...]) -> tuple[str, ...]:
    return (urls,) if isinstance(urls, str) else urls


def _network(table: str, name: str) -> str:
    try:
        return network_called(name, f"{table}.{name}")
    except UnfitError as error:
        raise SettingsError(str(error), f"{table}.{name}") from None


def _from_environment(settings: Settings, environment: Mapping[str, str]) -> Settings:
    if address := environment_value(environment, "address"):
        settings = replace(settings, address=_address(address, "ZUNO_ADDRESS"))
    if unit := environment_value(environment, "unit"):
        settings = replace(settings, unit=_unit(unit))
    if url := environment_value(environment, "coingecko.url"):
        settings = replace(settings, coingecko_url=checked_url(url, "ZUNO_COINGECKO_URL"))
    if key := environment_value(environment, "coingecko.key"):
        settings = replace(settings, coingecko_key=key)
    if url := environment_value(environment, "defillama.url"):
        settings = replace(settings, defillama_url=checked_url(url, "ZUNO_DEFILLAMA_URL"))
    if text := environment_value(environment, "limits.answer_seconds"):
        wanted = check_as(AnswerSeconds, _number(text), "ZUNO_ANSWER_SECONDS")
        limits = replace(settings.limits, answer_seconds=wanted)
        settings = replace(settings, limits=limits)
    if anvil := environment_value(environment, "demo.anvil"):
        settings = replace(settings, demo=DemoTable(anvil))
    if rpc := environment_value(environment, "rpc"):
        settings = _with_endpoint(settings, rpc, "ZUNO_RPC")
    if private := environment_value(environment, "send"):
        name = settings.chosen_network().name
        private = checked_url(private, "ZUNO_SEND_RPC")
        settings = replace(settings, sends={**settings.sends, name: private})
    return settings


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _from_flags(settings: Settings, flags: Flags) -> Settings:
    if flags.address:
        settings = replace(settings, address=_address(flags.address, "--address"))
    if flags.unit:
        settings = replace(settings, unit=_unit(flags.unit))
    if flags.alone:
        settings = replace(settings, alone=True)
    if flags.transactions is not None:
        limits = replace(settings.limits, transactions=flags.transactions)
        settings = replace(settings, limits=limits)
    if flags.rpc:
        settings = _with_endpoint(settings, flags.rpc, "--rpc")
    return settings


def _with_endpoint(settings: Settings, urls: str, place: str) -> Settings:
    """Endpoints given for this run belong to the network of this run and replace its others."""
    name = settings.chosen_network().name
    chosen = checked_endpoints(urls.split(","), place)
    return replace(settings, endpoints={**settings.endpoints, name: chosen})


def _address(value: object, place: str) -> Address:
    return check_as(OwnAddress, value, place).strip().lower()


def _unit(text: str) -> WorthUnit:
    try:
        return WorthUnit(text.strip().upper())
    except ValueError:
        raise SettingsError("unit may be usd or eth.", "unit") from None
