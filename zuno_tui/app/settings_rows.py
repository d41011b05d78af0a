"""Settings as rows, and what a change of one does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from agents.lp.debate import DEFAULT_ROUNDS
from agents.monitor.deliver.pace import EVERYTHING, FOR_PEOPLE
from agents.numbers.rules import RiskProfile
from chain.base.clean_text import shortened_urls
from chain.base.units import GWEI
from chain.contracts.addresses import checksum, shorten_address
from chain.contracts.networks import all_networks
from chain.prices.price import WorthUnit
from chain.wallet.address_book import read_book
from zuno_tui.gate.limits import gate_limits
from zuno_tui.present.views import THE_DEMO, SettingRow
from zuno_tui.settings import Flags, Settings, SettingsError, load_settings
from zuno_tui.settings.channels import channel_settings
from zuno_tui.settings.check import SWITCH, choices_at, expected_at
from zuno_tui.settings.debates import READING_SECONDS, SetValue, debate_settings, model_choices
from zuno_tui.settings.load import (
    VARIABLES,
    TransportChoice,
    environment_value,
    read_settings_file,
    variable_of,
)
from zuno_tui.settings.monitor import monitor_settings
from zuno_tui.settings.of_features import settings_file

if TYPE_CHECKING:
    from zuno_tui.app.session import Session


FILE, DEFAULT, THIS_RUN = "settings.toml", "default", "this run"
WALLET = "wallet"
_UNSEEN = ("telegram.token", "webhook.secret")
_MASKED = ("rpc.", "send.", "model.base_url", "model.key", "webhook.url", "debate.hook_sources")
MEANS = {
    "network": "the network the desk reads",
    WALLET: "whose positions are meant",
    "address": "an address used instead of the wallet",
    "unit": "the unit that values are shown in",
    "rpc": "the endpoints it is read from, comma-separated",
    "send": "where signed transactions go, if elsewhere",
    "alone": "whether one endpoint is enough when others do not answer",
    "model.provider": "the provider of the agents' model",
    "model.base_url": "a server of your own, instead of a provider",
    "model.name": "the model that is asked",
    "model.key": "where its key is; to keep one in the keyring: zuno model key",
    "debate.profile": "how much risk a plan may take",
    "debate.rounds": "rounds of the debate before the Arbiter decides",
    "debate.deterministic": "the rules alone, and no model",
    "debate.transport": "where the agents run",
    "debate.reading_seconds": "how long to read the chain before a debate, in seconds",
    "debate.hook_sources": "where a hook's source is read for models, by {{chain}} and {{address}}",
    "limits.max_fee_gwei": "the most a unit of gas may cost, in gwei",
    "limits.value_usd": "the most {coin} that one step may send along, in dollars",
    "limits.value_eth": "the most {coin} that one step may send along; better in dollars",
    "limits.daily_usd": "the most you move in a day, in dollars",
    "limits.allowed_hooks": "hooks whose pools you allow",
    "limits.doubt_seconds": "how long to look for a lost transaction, in seconds",
    "limits.safe_hours": "how long a Safe's owners have to sign and execute a plan, in hours",
    "limits.answer_seconds": "how long to wait for an endpoint's answer, in seconds",
    "monitor.interval": "seconds between checks of the positions",
    "monitor.fees_usd": "dollars of fees that raise an alert",
    "telegram.token": "the bot that sends alerts",
    "telegram.chat": "the chat that gets them",
    "telegram.least_severity": "the lowest severity that is sent there",
    "webhook.url": "a server that gets the alerts",
    "webhook.secret": "the secret that signs them",
    "webhook.least_severity": "the lowest severity that is sent there",
    "screen.theme": "the colours",
    "screen.bell": "whether an alert rings",
    "screen.mouse": "whether clicks come to zuno; without them the terminal selects text",
    "screen.reading_pace": "words a minute at which a debate is shown",
}
"""What is changed from the screen, in the order in which it stands there."""
_NO_FLAGS: Mapping[str, str] = MappingProxyType({})
_SWITCHED = {"true": "on", "false": "off"}
_OF_THE_DEMO = ("network", "address", "rpc")
_AT_NEXT_START = ("screen.bell", "screen.mouse", "screen.reading_pace")


class _Sources(NamedTuple):
    """Where a value may come from."""

    session: Session
    environment: Mapping[str, str]
    written: Mapping[str, object]
    from_file: Settings
    loaded: Settings
    """As a new run would have them."""
    by_flags: Mapping[str, str]
    """What this run's flags say of it beside those that the loader takes."""
    demo: bool = False
    """Whether its network, wallet and endpoint are the demo's, which nobody gave as flags."""


def setting_rows(
    session: Session,
    environment: Mapping[str, str],
    by_flags: Mapping[str, str] = _NO_FLAGS,
    *,
    demo: bool = False,
) -> tuple[SettingRow, ...]:
    path = session.home.settings
    try:
        written = read_settings_file(path)
    except FileNotFoundError:
        written = {}
    from_file = load_settings(path, {}, Flags())
    loaded = load_settings(path, environment, session.flags)
    sources = _Sources(session, environment, written, from_file, loaded, by_flags, demo)
    known = {**_defaults(sources), **dict(_values(sources)), **dict(_models(sources))}
    values = {**known, **by_flags}
    return tuple(_row(about, values, sources) for about in MEANS)


def _row(about: str, values: Mapping[str, SetValue | str], sources: _Sources) -> SettingRow:
    network = sources.session.network.name
    place = f"{about}.{network}" if about in ("rpc", "send") else about
    value = values[about]
    shown, origin = (
        (value, _origin(place, sources))
        if isinstance(value, str)
        else (value.shown, _named(value.origin))
    )
    choices = _choices(place)
    if choices == SWITCH:
        shown = _SWITCHED.get(shown, shown)
    return SettingRow(
        place,
        shown,
        origin,
        expects=_expected(place, sources),
        choices=choices,
        choice=next((choice for choice in choices if _is_choice(choice, shown)), ""),
        typed=_typed(place),
        means=MEANS[about].format(coin=sources.session.network.native_symbol),
        later=place in _AT_NEXT_START,
    )


def _choices(place: str) -> tuple[str, ...]:
    match place:
        case "network":
            return tuple(network.name for network in all_networks())
        case "unit":
            return tuple(unit.value.lower() for unit in WorthUnit)
        case "wallet":
            return ()
        case _:
            return choices_at(settings_file(), place)


def _is_choice(choice: str, shown: str) -> bool:
    """Whether the words on the screen, like `LM Studio` or `Base`, are of this choice."""
    titles = {network.name: network.title for network in all_networks()}
    return _letters(shown) in (_letters(choice), _letters(titles.get(choice, choice)))


def _letters(words: str) -> str:
    return "".join(filter(str.isalnum, words.lower()))


def _expected(place: str, sources: _Sources) -> str:
    match place:
        case "network" | "unit":
            return ", ".join(_choices(place))
        case "wallet":
            known = read_book(sources.session.home.keystore).wallets
            names = ", ".join(wallet.name for wallet in known)
            return f"{names}, or an address to look at" if names else "an address to look at"
        case _:
            switch = _choices(place) == SWITCH
            return " or ".join(SWITCH) if switch else expected_at(settings_file(), place)


def _typed(place: str) -> Literal["seen", "masked", "unseen"]:
    if place in _UNSEEN:
        return "unseen"
    return "masked" if place.startswith(_MASKED) else "seen"


def _origin(place: str, sources: _Sources) -> str:
    """Who said it last, as the loader hears them: the file, the environment, a flag, the person."""
    head, _, name = place.partition(".")
    now, loaded = sources.session.settings, sources.loaded
    if place in ("network", "address", "unit") and getattr(now, place) != getattr(loaded, place):
        return THIS_RUN
    if place == WALLET:
        return "your wallets" if now.address is None else "address"
    if flag := _flag(place, sources):
        return THE_DEMO if sources.demo and place.startswith(_OF_THE_DEMO) else f"flag --{flag}"
    variable = variable_of(place)
    if variable is not None and sources.environment.get(variable):
        return _named(variable)
    if head in ("rpc", "send"):
        known = sources.from_file.endpoints if head == "rpc" else sources.from_file.sends
        return FILE if name in known else DEFAULT
    table = sources.written.get(head) if name else sources.written
    return FILE if isinstance(table, dict) and (name or head) in table else DEFAULT


def _flag(place: str, sources: _Sources) -> str | None:
    """The flag of this run that says it."""
    head, _, name = place.partition(".")
    if place in sources.by_flags:
        return name
    return head if getattr(sources.session.flags, head, None) else None


def _named(origin: str) -> str:
    """A variable by its name, and the file or nobody as they are."""
    known = origin.startswith(FILE) or origin == DEFAULT
    return origin if known else f"environment ({origin})"


def _values(sources: _Sources) -> Iterator[tuple[str, str]]:
    """What is said, as it may be shown."""
    session, settings = sources.session, sources.session.settings
    yield "network", session.network.title
    yield "unit", settings.unit.value.lower()
    yield WALLET, _wallet(session)
    if settings.address is not None:
        yield "address", checksum(settings.address)
    urls = (*settings.endpoints_for(session.network), *settings.sockets_for(session.network))
    if urls:
        yield "rpc", ", ".join(map(shortened_urls, urls))
    if private := settings.send_endpoint_for(session.network):
        yield "send", shortened_urls(private)
    yield "alone", _plain(settings.alone)
    for place in MEANS:
        table, _, name = place.partition(".")
        if not name:
            continue
        said = environment_value(sources.environment, place) if place in VARIABLES else None
        value = said or getattr(getattr(settings, table), name)
        if value is not None and value != ():
            yield place, _shown_value(place, value)


def _shown_value(place: str, value: object) -> str:
    if place in _UNSEEN:
        return "set"
    if place == "webhook.url":
        # All that follows the host of such a URL lets one in.
        scheme, _, rest = str(value).partition("://")
        return shortened_urls(f"{scheme}://{rest.rpartition('@')[2].partition('/')[0]}/…")
    return shortened_urls(_plain(value)) if place.startswith(_MASKED) else _plain(value)


def _plain(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return f"{value:,}".removesuffix(".0")
        case tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)


def _wallet(session: Session) -> str:
    book = read_book(session.home.keystore)
    address = session.settings.address or book.current or session.network.default_address
    if address is None:
        return "none"
    known = book.at(address)
    return shorten_address(address) if known is None else f"{known.name} {shorten_address(address)}"


def _defaults(sources: _Sources) -> dict[str, str]:
    """What holds where nothing is said."""
    session = sources.session
    limits = gate_limits(session.settings.limits, session.network)
    watch = monitor_settings(session.settings)
    return {
        "address": "none",
        "rpc": "none",
        "send": "same as rpc",
        "debate.profile": RiskProfile.BALANCED,
        "debate.rounds": str(DEFAULT_ROUNDS),
        "debate.transport": TransportChoice.AUTO,
        "debate.reading_seconds": _plain(READING_SECONDS),
        "debate.hook_sources": "not set",
        "limits.max_fee_gwei": _plain(limits.policy.max_fee_per_gas / GWEI),
        "limits.value_usd": _plain(limits.value_usd),
        "limits.value_eth": "no limit",
        "limits.daily_usd": "no limit",
        "limits.allowed_hooks": "none",
        "limits.doubt_seconds": _plain(limits.doubt_seconds),
        "limits.answer_seconds": _plain(session.settings.request_limits.answer_seconds),
        "monitor.interval": _plain(watch.interval_seconds),
        "monitor.fees_usd": _plain(watch.everywhere.fees_usd),
        "telegram.token": "not set",
        "telegram.chat": "not set",
        "telegram.least_severity": FOR_PEOPLE.least_severity,
        "webhook.url": "not set",
        "webhook.secret": "not set",
        "webhook.least_severity": EVERYTHING.least_severity,
        "screen.theme": "chosen for your terminal",
    }


def _models(sources: _Sources) -> Iterator[tuple[str, SetValue | str]]:
    """Of the model what the first role to speak would ask."""
    table = sources.session.settings.model
    yield "model.base_url", "none" if table.base_url is None else shortened_urls(table.base_url)
    try:
        values = model_choices(table, sources.environment)[0].values
    except SettingsError as error:
        yield "model.provider", table.provider or "none"
        yield "model.name", str(error)
        yield "model.key", "unknown"
        return
    yield "model.provider", values["server"]
    yield "model.name", values["name"]
    yield "model.key", values["key"]


class ChangeWords(NamedTuple):
    words: str
    counts: bool
    """Whether it will be lived by, now or from the next start on."""


def change_words(
    session: Session,
    environment: Mapping[str, str],
    place: str,
    *,
    by_flags: Mapping[str, str] | None = None,
    demo: bool = False,
) -> ChangeWords:
    """Of a setting that was written a moment ago."""
    kept = "Saved until the demo ends" if demo else "Saved"
    if missing := _missing(session, environment):
        return ChangeWords(f"{kept}, but {missing}", counts=False)
    rows = setting_rows(session, environment, by_flags or {}, demo=demo)
    row = next((row for row in rows if row.name == place), None)
    if row is not None and row.is_overruled:
        words = f"{kept}, but it has no effect yet: {row.origin} overrides the file."
        if row.origin == THE_DEMO:
            words = f"The demo keeps its own {place.partition('.')[0]}: nothing else is used here."
        return ChangeWords(words, counts=False)
    if row is not None and row.later:
        return ChangeWords(f"{kept}. It takes effect when zuno is opened again.", counts=True)
    return ChangeWords(f"{kept}, and in use now.", counts=True)


def _missing(session: Session, environment: Mapping[str, str]) -> str | None:
    """What is missing beside what is set, in words: each may fit by itself, and not together."""
    settings = session.settings
    try:
        debate_settings(settings, environment, profile=None, deterministic=False)
        channel_settings(settings, environment)
    except SettingsError as error:
        return str(error)
    return None
