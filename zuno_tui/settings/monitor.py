"""How the person wants to be watched over: `[monitor]`, `[monitor.networks.base]` for one network,
and `[monitor.positions.7]` for one position.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agents.monitor.rules.thresholds import LEAST_INTERVAL_SECONDS, Thresholds, WatchSettings
from chain.contracts.networks import UnknownNetworkError, network_named
from zuno_tui.settings.load import SettingsError, refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zuno_tui.settings.load import Settings

_SHARES = ("near_edge", "survival", "clearly_inside", "drained", "disagreement", "loss")
_AMOUNTS = (
    *("settle_minutes", "critical_minutes", "critical_distance"),
    *("fees_usd", "fees_gas_multiple", "value_below_usd"),
)
_LEVELS = ("price_below", "price_above")
_THRESHOLDS = (*_SHARES, *_AMOUNTS, *_LEVELS)
_WIDEST_MARGIN = 0.25
_LONGEST_INTERVAL = 86_400.0


def monitor_settings(settings: Settings) -> WatchSettings:
    """Raises `SettingsError` at the first thing that cannot be meant."""
    table = settings.monitor
    known = (*_THRESHOLDS, "interval", "blind_polls", "networks", "positions")
    refuse_unknown("monitor", table, known)
    default = WatchSettings()
    everywhere = _thresholds("monitor", table, default.everywhere)
    networks = _networks(table.get("networks", {}), everywhere)
    return WatchSettings(
        everywhere=everywhere,
        of_networks=networks,
        of_positions=_positions(table.get("positions", {}), everywhere, networks),
        interval_seconds=monitor_interval(table.get("interval", default.interval_seconds)),
        blind_polls=_count(table.get("blind_polls", default.blind_polls)),
    )


def monitor_interval(value: object) -> float:
    """Seconds between polls, from the settings or a flag."""
    seconds = float(_number("The monitor's interval", value))
    if not LEAST_INTERVAL_SECONDS <= seconds <= _LONGEST_INTERVAL:
        raise SettingsError(
            f"The monitor's interval is {value} s, but it may be {LEAST_INTERVAL_SECONDS:.0f}"
            f" to {_LONGEST_INTERVAL:.0f} s."
        )
    return seconds


def _networks(tables: object, everywhere: Thresholds) -> dict[str, Thresholds]:
    if not isinstance(tables, dict):
        raise SettingsError("[monitor.networks] names networks, like [monitor.networks.base].")
    chosen: dict[str, Thresholds] = {}
    for name, table in tables.items():
        place = f"monitor.networks.{name}"
        try:
            network = network_named(str(name)).name
        except UnknownNetworkError as error:
            raise SettingsError(f"[{place}] {error}") from error
        chosen[network] = _thresholds(place, _table(place, table), everywhere)
    return chosen


def _positions(
    tables: object, everywhere: Thresholds, networks: Mapping[str, Thresholds]
) -> dict[tuple[str | None, int], Thresholds]:
    if not isinstance(tables, dict):
        raise SettingsError(
            '[monitor.positions] names positions, like [monitor.positions.7] or "base:7".'
        )
    anywhere: dict[tuple[str | None, int], Thresholds] = {}
    on_one: dict[tuple[str | None, int], Thresholds] = {}
    for name, table in tables.items():
        place = f"monitor.positions.{name}"
        checked = _table(place, table)
        network, number = _position(str(name), place)
        if network is not None:
            before = networks.get(network, everywhere)
            on_one[network, number] = _thresholds(place, checked, before)
            continue
        # A network with thresholds of its own has them for this position, too.
        for other, before in ((None, everywhere), *networks.items()):
            anywhere[other, number] = _thresholds(place, checked, before)
    return {**anywhere, **on_one}


def _table(place: str, table: object) -> Mapping[str, object]:
    if not isinstance(table, dict):
        raise SettingsError(f"[{place}] must be a table of thresholds.")
    refuse_unknown(place, table, _THRESHOLDS)
    return table


def _position(name: str, place: str) -> tuple[str | None, int]:
    network, _, number = name.rpartition(":")
    if not number.isascii() or not number.isdigit():
        raise SettingsError(f'[{place}] must name a position, like 7 or "base:7".')
    try:
        return (network_named(network).name if network else None), int(number)
    except UnknownNetworkError as error:
        raise SettingsError(f"[{place}] {error}") from error


def _thresholds(place: str, table: Mapping[str, object], before: Thresholds) -> Thresholds:
    changed: dict[str, float | Fraction] = {}
    for key in _THRESHOLDS:
        if key not in table:
            continue
        number = _number(f"{place}.{key}", table[key])
        most = _WIDEST_MARGIN if key == "clearly_inside" else 1 if key in _SHARES else None
        if number < 0 or (most is not None and number > most):
            may = "0 or more" if most is None else f"from 0 to {most}"
            raise SettingsError(f"{place}.{key} is {table[key]}, but it may be {may}.")
        changed[key] = Fraction(number) if key in _LEVELS else float(number)
    return replace(before, **changed)  # each key has its own type above


def _number(place: str, value: object) -> Decimal:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        number = Decimal("nan")
    if isinstance(value, bool) or not number.is_finite():
        raise SettingsError(f"{place} is {value!r}, but must be a number.")
    return number


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise SettingsError(f"monitor.blind_polls is {value!r}, but may be 1 or more.")
    return value
