"""What `settings.toml` may hold of trades and hedges: `[trade]`, and thresholds of `[monitor]`."""

from typing import Annotated

from msgspec import Meta

from zuno_tui.settings.schema import (
    KeyVariable,
    Positive,
    RoleModelTable,
    SettingsTable,
    Share,
    Switch,
    Url,
)

Leverage = Annotated[float, Meta(gt=0, le=2, description="a number above 0, at most 2")]
HedgeSeconds = Annotated[
    int, Meta(ge=1, le=600, description="a whole number of seconds from 1 to 600")
]
VenueName = Annotated[
    str,
    Meta(pattern="^[a-z][a-z0-9-]{1,30}$", description="a venue's name, as zuno venue lists it"),
]


class TradeModelsTable(SettingsTable, frozen=True):
    """Who is asked in each office of the trade desk, and who stands in."""

    judge: RoleModelTable = RoleModelTable()
    liquidity: RoleModelTable = RoleModelTable()
    microstructure: RoleModelTable = RoleModelTable()
    macro: RoleModelTable = RoleModelTable()
    vlm_geometric: RoleModelTable = RoleModelTable()
    self_correction: RoleModelTable = RoleModelTable()
    post_mortem: RoleModelTable = RoleModelTable()
    rag_extraction: RoleModelTable = RoleModelTable()
    chat: RoleModelTable = RoleModelTable()
    fallback: RoleModelTable = RoleModelTable()


class TradeTable(SettingsTable, frozen=True):
    """The trade desk: where its market is read, and how much it may do."""

    venue: VenueName = "paper"
    spot_venue: VenueName | None = None
    """Where longs go that fit its limits, beside the venue that takes everything else."""
    allow_withdrawing_key: Switch = False
    """Whether orders may be sent with a key that could move the money away."""
    url: Url | None = None
    paper_usd: Positive | None = None
    order_usd: Positive | None = None
    """The largest outright order."""
    hedge_usd: Positive | None = None
    """The largest hedge of one position; by default what the position is worth."""
    hedge_seconds: HedgeSeconds = 30
    """How long a hedge rests before what is left of it is taken at once."""
    account_leverage: Leverage | None = None
    fred_key: KeyVariable | None = None
    send_reports: Switch = True
    """To Telegram, where it is set."""
    news: tuple[Url, ...] = ()
    """Feeds in RSS or Atom."""
    narrative: RoleModelTable = RoleModelTable()
    """A model that searches the web."""
    models: TradeModelsTable = TradeModelsTable()


class HedgeThresholdsTable(SettingsTable, frozen=True):
    """Under `[monitor]`, by the names of the hedges' own thresholds."""

    hedge_drift: Share | None = None
    hedge_margin: Share | None = None
    hedge_funding: Share | None = None


TABLES = {"trade": TradeTable}
THRESHOLDS = HedgeThresholdsTable
