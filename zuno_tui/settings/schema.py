"""Every table of `settings.toml`: what it may hold, of what kind, and what is chosen without it."""

import re
from typing import Annotated, Literal

from msgspec import Meta, field

from chain.base.clean_text import SecretStruct
from chain.base.units import ADDRESS
from chain.contracts.networks import UnknownNetworkError, network_named
from chain.protocols.reference import PositionRef, read_position_ref
from zuno_tui.settings.check import UnfitError, check_as

MOST_ROUNDS = 6

Text = Annotated[str, Meta(min_length=1, description="a text")]
Switch = Annotated[bool, Meta(description="true or false")]
Url = Annotated[
    str,
    Meta(
        pattern=r"^\s*https?://[^\s/]+(/\S*)?\s*$",
        description="a URL that starts with http:// or https://",
    ),
]
Urls = Annotated[
    Text | Annotated[tuple[Text, ...], Meta(min_length=1)],
    Meta(description="a URL or a list of URLs"),
]
_ADDRESS = rf"^\s*{ADDRESS.pattern}\s*$"
AddressText = Annotated[
    str, Meta(pattern=_ADDRESS, description="an address: 0x and 40 hexadecimal digits")
]
OwnAddress = Annotated[
    str,
    Meta(
        pattern=_ADDRESS,
        description="an address: 0x and 40 hexadecimal digits."
        " To save an ENS name: zuno wallet import NAME",
    ),
]
Hooks = Annotated[tuple[AddressText, ...], Meta(description='a list of addresses, like ["0x…"]')]
Positive = Annotated[float, Meta(gt=0, lt=2**53, description="a number above 0")]
Amount = Annotated[float, Meta(ge=0, lt=2**53, description="a number of 0 or more")]
Share = Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1")]
Margin = Annotated[float, Meta(ge=0, le=0.25, description="a number from 0 to 0.25")]
Interval = Annotated[float, Meta(ge=5, le=86_400, description="from 5 to 86400 seconds")]
Count = Annotated[int, Meta(ge=1, description="a whole number of 1 or more")]
Rounds = Annotated[
    int, Meta(ge=1, le=MOST_ROUNDS, description=f"a whole number from 1 to {MOST_ROUNDS}")
]
WordsAMinute = Annotated[
    int, Meta(ge=0, le=10_000, description="words a minute, or 0 for no pause between turns")
]
PictureChoice = Annotated[
    Literal["auto", "kitty", "sixel", "blocks"],
    Meta(description='"auto", "kitty", "sixel" or "blocks"'),
]
ThemeName = Annotated[
    Literal["zuno-dark", "zuno-light", "zuno-high-contrast", "zuno-16", "colourless"],
    Meta(description="zuno-dark, zuno-light, zuno-high-contrast, zuno-16 or colourless"),
]
Tokens = Annotated[int, Meta(ge=0, description="a whole number of tokens")]
Dollars = Annotated[float, Meta(ge=0, lt=2**53, description="an amount of dollars")]
TokenPrice = Annotated[
    tuple[Dollars, Dollars], Meta(description="[dollars in, dollars out] for a million tokens")
]
ModelName = Annotated[str, Meta(pattern=r"\S", description="the name of a model")]
ProviderName = Annotated[
    Literal[
        "openai",
        "anthropic",
        "gemini",
        "openrouter",
        "deepseek",
        "groq",
        "ollama",
        "lmstudio",
        "vllm",
        "llama.cpp",
    ],
    Meta(
        description="openai, anthropic, gemini, openrouter, deepseek, groq, ollama, lmstudio, vllm"
        " or llama.cpp; for any other server write base_url instead"
    ),
]
KEYRING = "keyring"
KEY_VARIABLE = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]{0,63})")
KeyPlace = Annotated[
    str,
    Meta(
        pattern=rf"^({KEYRING}|{KEY_VARIABLE.pattern})$",
        description='"keyring", or "env:" and the name of a variable; the key itself is never here',
    ),
]
KeyVariable = Annotated[
    str,
    Meta(
        pattern=rf"^{KEY_VARIABLE.pattern}$",
        description='"env:" and the name of a variable; the key itself is never here',
    ),
]
Temperature = Annotated[float, Meta(ge=0, le=2, description="a number from 0 to 2")]
ReplyTokens = Annotated[
    int, Meta(ge=200, le=200_000, description="a whole number from 200 to 200000")
]
ThinkingTokens = Annotated[
    int, Meta(ge=0, le=200_000, description="a whole number from 0 to 200000")
]
Seconds = Annotated[float, Meta(ge=5, le=3_600, description="from 5 to 3600 seconds")]
SafeHours = Annotated[float, Meta(ge=1, le=168, description="from 1 to 168 hours")]
AnswerSeconds = Annotated[float, Meta(ge=1, le=600, description="from 1 to 600 seconds")]
Profile = Annotated[
    Literal["conservative", "balanced", "aggressive"],
    Meta(description="conservative, balanced or aggressive"),
]
Transport = Annotated[Literal["auto", "mesh", "local"], Meta(description="auto, mesh or local")]
LeastSeverity = Annotated[
    Literal["info", "warning", "critical"], Meta(description="info, warning or critical")
]
Days = Annotated[int, Meta(ge=1, le=36_500, description="a whole number from 1 to 36500")]
Megabytes = Annotated[
    int, Meta(ge=10, le=1_000_000, description="a whole number from 10 to 1000000")
]
Minutes = Annotated[
    float, Meta(ge=0, le=1_440, description="a number from 0, which is off, to 1440")
]
Hours = Annotated[float, Meta(ge=0, le=168, description="a number from 0, which is off, to 168")]
ADayCount = Annotated[
    int, Meta(ge=0, le=1_000, description="a whole number from 0, which is no limit, to 1000")
]
HOURS = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])-([01]?[0-9]|2[0-3]):([0-5][0-9])")
TimesOfDay = Annotated[
    str,
    Meta(pattern=rf"^\s*{HOURS.pattern}\s*$", description='two times of day, like "22:00-07:00"'),
]
BotToken = Annotated[
    str,
    Meta(
        pattern=r"^\s*[0-9]+:[A-Za-z0-9_-]+\s*$", description="what @BotFather gave: digits:letters"
    ),
]
Chat = Annotated[
    int | Annotated[str, Meta(pattern=r"^\s*(-?[0-9]+|@[A-Za-z][A-Za-z0-9_]*)\s*$")],
    Meta(description="a number, or @ and a channel's name"),
]
Chats = Annotated[tuple[Chat, ...], Meta(description="a list of chats, like [4242]")]


class SettingsTable(SecretStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One table of the file, with None for what it does not say."""


class DebateTable(SettingsTable, frozen=True):
    profile: Profile | None = None
    rounds: Rounds | None = None
    deterministic: Switch = False
    transport: Transport | None = None
    reading_seconds: Seconds | None = None
    """For what the chain is read before anybody argues."""
    hook_sources: Url | None = None
    """Where the source of a pool's hook is read for models, {chain} and {address} in its place."""


class BudgetTable(SettingsTable, frozen=True):
    debate_tokens: Tokens | None = None
    day_tokens: Tokens | None = None
    debate_usd: Dollars | None = None
    day_usd: Dollars | None = None


class RoleModelTable(SettingsTable, frozen=True):
    """Who is asked, and how."""

    name: ModelName | None = None
    provider: ProviderName | None = None
    base_url: Url | None = None
    key: KeyPlace | None = None
    temperature: Temperature | None = None
    max_tokens: ReplyTokens | None = None
    thinking_tokens: ThinkingTokens | None = None
    seconds: Seconds | None = None

    def __post_init__(self) -> None:
        if self.provider is not None and self.base_url is not None:
            raise UnfitError(" has a provider and a base_url. Keep the one that is meant.")


class ModelRolesTable(SettingsTable, frozen=True):
    scout: RoleModelTable = RoleModelTable()
    strategist: RoleModelTable = RoleModelTable()
    critic: RoleModelTable = RoleModelTable()
    arbiter: RoleModelTable = RoleModelTable()


class ModelTable(RoleModelTable, frozen=True):
    debate_seconds: Seconds | None = None
    roles: ModelRolesTable = ModelRolesTable()
    budget: BudgetTable = BudgetTable()
    prices: dict[str, TokenPrice] = field(default_factory=dict)


class LimitsTable(SettingsTable, frozen=True):
    max_fee_gwei: Positive | None = None
    value_usd: Positive | None = None
    value_eth: Positive | None = None
    """As `value_usd` was written before: it holds as long as it stands there."""
    daily_usd: Positive | None = None
    allowed_hooks: Hooks = ()
    doubt_seconds: Positive | None = None
    answer_seconds: AnswerSeconds | None = None
    """For one answer of an RPC endpoint."""
    safe_hours: SafeHours = 24
    """How long a Safe's transaction can be executed, for its owners to sign."""
    transactions: Literal["auto", "one", "steps"] | None = None
    """Whether a plan of several steps is one transaction, where the account carries out batches."""


class ThresholdsTable(SettingsTable, frozen=True):
    """By the names of the monitor's own thresholds."""

    near_edge: Share | None = None
    survival: Share | None = None
    clearly_inside: Margin | None = None
    settle_minutes: Amount | None = None
    critical_minutes: Amount | None = None
    critical_distance: Amount | None = None
    fees_usd: Amount | None = None
    fees_gas_multiple: Amount | None = None
    drained: Share | None = None
    disagreement: Share | None = None
    price_below: Amount | None = None
    price_above: Amount | None = None
    value_below_usd: Amount | None = None
    loss: Share | None = None


class MonitorTable(ThresholdsTable, frozen=True):
    interval: Interval | None = None
    blind_polls: Count | None = None
    networks: dict[str, ThresholdsTable] = field(default_factory=dict)
    positions: dict[str, ThresholdsTable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.networks:
            network_called(name, f".networks.{name}")
        for name in self.positions:
            position_called(name, f".positions.{name}")


class PaceTable(SettingsTable, frozen=True):
    """How often a channel may speak."""

    least_severity: LeastSeverity | None = None
    quiet_hours: TimesOfDay | None = None
    time_zone: Text | None = None
    critical_in_quiet_hours: Switch | None = None
    cooldown_minutes: Minutes | None = None
    most_a_day: ADayCount | None = None
    remind_hours: Hours | None = None

    def __post_init__(self) -> None:
        if self.quiet_hours is None and self.time_zone is not None:
            raise UnfitError(' has a time_zone but no quiet_hours, like "22:00-07:00".')
        if self.quiet_hours is None:
            return
        if self.time_zone is None:
            raise UnfitError(' has quiet_hours but no time_zone, like "Europe/Berlin" or "UTC".')
        start, _, end = self.quiet_hours.strip().partition("-")
        if start.zfill(5) == end.zfill(5):
            raise UnfitError(
                ".quiet_hours begin and end at the same time. To be told of what is critical"
                ' alone, set least_severity = "critical".'
            )
        if not _is_time_zone(self.time_zone):
            raise UnfitError(
                '.time_zone is not a time zone this system knows. Write it like "Europe/Berlin",'
                ' "America/New_York" or "UTC".'
            )


class TelegramTable(PaceTable, frozen=True):
    token: BotToken | None = None
    chat: Chat | None = None
    answer_to: Chats = ()
    url: Url | None = None


class WebhookTable(PaceTable, frozen=True):
    url: Url | None = None
    secret: Text | None = None


class ScreenTable(SettingsTable, frozen=True):
    theme: ThemeName | None = None
    ascii: Switch = False
    bell: Switch = True
    mouse: Switch = True
    reading_pace: WordsAMinute = 450
    pictures: PictureChoice = "auto"


class CoinGeckoTable(SettingsTable, frozen=True):
    url: Url | None = None
    key: Text | None = None


class DefiLlamaTable(SettingsTable, frozen=True):
    url: Url | None = None


class DemoTable(SettingsTable, frozen=True):
    anvil: Text | None = None
    """The program of the embedded chain's node, in place of the one that is fetched."""


class RetentionSettings(SettingsTable, frozen=True):
    days: Days = 365
    """Of plans and records: a year of advice can be looked up and scored."""
    megabytes: Megabytes = 1_024
    """Of records: a debate takes 25 kB to about a megabyte, the busier the pool the more."""
    memory_days: Days = 14
    """Of a pool's swaps that nobody asked for since; they can be read from the chain again."""


LedgerPlace = Annotated[
    str,
    Meta(pattern=r"^(usb|tcp://\S+:[0-9]+)$", description='"usb" or "tcp://127.0.0.1:PORT"'),
]
SignerPlace = Annotated[
    str,
    Meta(
        pattern=r"^(https?://\S+|unix:/\S+)$",
        description="http://127.0.0.1:PORT or unix:/path/to/socket",
    ),
]


class WalletTable(SettingsTable, frozen=True):
    """Where keys that are not here are asked for."""

    ledger: LedgerPlace | None = None
    signer: SignerPlace | None = None
    """Another program that signs over JSON-RPC."""
    signer_hosts: Annotated[tuple[Text, ...], Meta(description="a list of host names")] = ()
    """Other machines that it may be on."""


class SharedTables(SettingsTable, frozen=True):
    """What is used as it was written, once it was checked."""

    alone: Switch = False
    """Whether one endpoint may vouch for a signature while the others set are silent."""
    debate: DebateTable = DebateTable()
    model: ModelTable = ModelTable()
    limits: LimitsTable = LimitsTable()
    monitor: MonitorTable = MonitorTable()
    telegram: TelegramTable = TelegramTable()
    webhook: WebhookTable = WebhookTable()
    screen: ScreenTable = ScreenTable()
    keys: dict[str, Text] = field(default_factory=dict)
    """By a key's id; which there are the screen knows."""
    retention: RetentionSettings = RetentionSettings()
    demo: DemoTable = DemoTable()
    wallet: WalletTable = WalletTable()


class SettingsFile(SharedTables, frozen=True):
    network: Text | None = None
    address: OwnAddress | None = None
    unit: Text | None = None
    rpc: dict[str, Urls] = field(default_factory=dict)
    send: dict[str, Url] = field(default_factory=dict)
    coingecko: CoinGeckoTable = CoinGeckoTable()
    defillama: DefiLlamaTable = DefiLlamaTable()


def network_called(name: str, place: str) -> str:
    """The network's own name, whichever of its names was written."""
    try:
        return network_named(name).name
    except UnknownNetworkError as error:
        raise UnfitError(f"{place}: {error}") from error


def position_called(name: str, place: str) -> tuple[str | None, PositionRef]:
    """A position on any network, like 7 or 3:7 for one of v3, or on one, like base:7."""
    network, _, written = name.rpartition(":")
    if network == "3" or network.endswith(":3"):
        network, written = network[:-2], f"3:{written}"
    ref = None if written.startswith("#") else read_position_ref(written)
    if ref is None:
        raise UnfitError(f'{place} must name a position, like 7 or "base:7".')
    return (network_called(network, place) if network else None), ref


def checked_url(value: object, place: str) -> str:
    """It may hold a key: the message does not repeat it."""
    return check_as(Url, value, place).strip()


def _is_time_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return bool(ZoneInfo(name).key)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
