"""How the person wants to be watched over: `[monitor]`, `[monitor.networks.base]` for one network,
`[monitor.positions.7]` for one position.
"""

from collections.abc import Mapping
from fractions import Fraction

from msgspec.structs import asdict, replace

from agents.monitor.rules.thresholds import Thresholds, WatchSettings
from chain.protocols.reference import PositionRef
from zuno_tui.settings.check import check_as
from zuno_tui.settings.load import Settings
from zuno_tui.settings.of_features import feature_thresholds
from zuno_tui.settings.schema import Interval, ThresholdsTable, network_called, position_called

_LEVELS = ("price_below", "price_above")


def monitor_settings(settings: Settings) -> WatchSettings:
    table = settings.monitor
    default = WatchSettings()
    everywhere = _thresholds(table, default.everywhere)
    networks = {
        network_called(name, name): _thresholds(network, everywhere)
        for name, network in table.networks.items()
    }
    return WatchSettings(
        everywhere=everywhere,
        of_networks=networks,
        of_positions=_positions(table.positions, everywhere, networks),
        interval_seconds=default.interval_seconds if table.interval is None else table.interval,
        blind_polls=default.blind_polls if table.blind_polls is None else table.blind_polls,
    )


def monitor_interval(value: object) -> float:
    """Seconds between polls, as a flag gives them."""
    return check_as(Interval, value, "The monitor's interval")


def _positions(
    tables: Mapping[str, ThresholdsTable],
    everywhere: Thresholds,
    networks: Mapping[str, Thresholds],
) -> dict[tuple[str | None, PositionRef], Thresholds]:
    anywhere: dict[tuple[str | None, PositionRef], Thresholds] = {}
    on_one: dict[tuple[str | None, PositionRef], Thresholds] = {}
    for name, table in tables.items():
        network, ref = position_called(name, name)
        if network is not None:
            on_one[network, ref] = _thresholds(table, networks.get(network, everywhere))
            continue
        # A network with thresholds of its own has them for this position, too.
        for other, before in ((None, everywhere), *networks.items()):
            anywhere[other, ref] = _thresholds(table, before)
    return {**anywhere, **on_one}


def _thresholds(table: ThresholdsTable, before: Thresholds) -> Thresholds:
    said = {name: value for name, value in asdict(table).items() if value is not None}
    own = {
        name: Fraction(str(value)) if name in _LEVELS else value
        for name, value in said.items()
        if name in Thresholds.__struct_fields__
    }
    others = feature_thresholds() & said.keys()
    of_features = {**before.of_features, **{name: said[name] for name in others}}
    return replace(before, **own, of_features=of_features)
