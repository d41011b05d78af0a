"""The whole of what a person holds, in rows, in lines and as a document."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.contracts.networks import Address, Network
from zuno_tui.present.attachment import Attachment
from zuno_tui.present.document import document, parts

if TYPE_CHECKING:
    from chain.contracts.networks import Network
    from zuno_tui.present.output import Json
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple, cast

from agents.monitor.alerts.alert import Alert, alert_document
from chain.base.units import HOUR, Known, Quantity, Unknown
from chain.contracts.addresses import shorten_address
from chain.contracts.networks import Network
from chain.positions.overview import WalletWorth
from chain.prices.price import WorthUnit
from zuno_tui.present.output import Json
from zuno_tui.present.position import wallet_document
from zuno_tui.present.views import Tone
from zuno_tui.present.words import number, units


class PortfolioEntry(Struct, frozen=True):
    """One wallet on one network."""

    network: Network
    wallet: Address
    label: str
    """What the person calls the wallet; empty where it has no name."""
    worth: WalletWorth | None
    """None where the network could not be read."""
    trouble: str = ""
    """Why it could not be read, or what of it is missing."""
    attachments: tuple[Attachment, ...] = ()
    """What hangs on its positions besides the chain."""

    @property
    def whole(self) -> bool:
        return self.worth is not None and not self.trouble


class WholePortfolio(Struct, frozen=True):
    unit: WorthUnit
    entries: tuple[PortfolioEntry, ...]
    alerts: tuple[Alert, ...]
    """Those that stand for any of these wallets, what is worst first."""

    @property
    def total(self) -> Fraction:
        """Of what could be read and priced."""
        return sum((entry.worth.total for entry in self.entries if entry.worth), Fraction(0))

    @property
    def whole(self) -> bool:
        """Whether every network could be read, every position found and every token priced."""
        return all(
            entry.whole and entry.worth and not entry.worth.unpriced_tokens
            for entry in self.entries
        )

    @property
    def wallets(self) -> int:
        return len({entry.wallet for entry in self.entries})

    @property
    def networks(self) -> int:
        return len({entry.network.chain_id for entry in self.entries})


_MOST_POINTS = 240


class ResultLine(NamedTuple):
    """How something stood against holding, through time."""

    times: tuple[float, ...]
    values: tuple[float, ...]


class EarnedRow(Struct, frozen=True):
    """A position, a wallet on a network, or all of it."""

    key: str
    name: str
    worth: str
    today: str = "…"
    """Fees earned, collected or not; so are the next three."""
    week: str = "…"
    month: str = "…"
    entry: str = "…"
    result: str = "…"
    """Against holding what was put in."""
    tone: Tone = "plain"
    note: str = ""
    """What could not be told of it, and why."""
    line: ResultLine | None = None
    idle: bool = False
    """What lies in a wallet: it earns nothing, and has no result."""


def idle_row(key: str, name: str, worth: str) -> EarnedRow:
    """Tokens beside the positions."""
    return EarnedRow(key, name, worth, today="", week="", month="", entry="", result="", idle=True)


class PortfolioView(Struct, frozen=True):
    total: EarnedRow
    rows: tuple[EarnedRow, ...] = ()
    """Each wallet on each network, followed by what it holds beside positions and by these.

    Of a single wallet the row of all is the wallet's.
    """
    heading: str = ""
    place: str = ""
    """Which wallet on which network, or how many of both."""
    reading: str = ""
    """What is still being read; empty when all is there."""
    unit: WorthUnit = WorthUnit.USD
    """What all money in it is counted in: the heads name it."""


def summed_lines(lines: Sequence[tuple[ResultLine, float]]) -> ResultLine | None:
    """Results of several through time; each comes with when it was opened.

    Before that it counts as nothing. The sum begins where all that was open by then is known.
    """
    told = [(line, opened) for line, opened in lines if line.times]
    if not told:
        return None
    begins = [line.times[0] for line, opened in told if opened < line.times[0] - HOUR]
    begin = max(begins) if begins else min(line.times[0] for line, _ in told)
    times = sorted({time for line, _ in told for time in line.times if time >= begin})
    times = _thinned(times)
    values = [0.0] * len(times)
    for line, opened in told:
        at = -1
        for place, time in enumerate(times):
            while at + 1 < len(line.times) and line.times[at + 1] <= time:
                at += 1
            if at >= 0:
                values[place] += line.values[at]
            elif opened <= time:
                values[place] += line.values[0]
    return ResultLine(tuple(times), tuple(values))


def _thinned(times: Sequence[float]) -> list[float]:
    if len(times) <= _MOST_POINTS:
        return list(times)
    last = len(times) - 1
    return [times[place * last // (_MOST_POINTS - 1)] for place in range(_MOST_POINTS)]


_PLACES = 8


def portfolio_document(whole: WholePortfolio) -> dict[str, Json]:
    return {
        "unit": whole.unit.value,
        "total": round(float(whole.total), _PLACES),
        "whole": whole.whole,
        "wallets": [_entry_document(entry) for entry in whole.entries],
        "alerts": [cast("dict[str, Json]", alert_document(alert)) for alert in whole.alerts],
    }


def wallet_words(entry: PortfolioEntry) -> str:
    """The wallet as a person knows it: by its name and enough of its address."""
    return f"{entry.label} {shorten_address(entry.wallet)}".strip()


def left_out(whole: WholePortfolio) -> tuple[str, ...]:
    """What is in no sum, and where sources of prices disagree."""
    return (*_left_out(whole), *_disputes(whole))


def _left_out(whole: WholePortfolio) -> Iterator[str]:
    for entry in whole.entries:
        where = f"{wallet_words(entry)} on {entry.network.name}"
        if entry.worth is None:
            yield f"Not in the sum: {where} ({entry.trouble})"
            continue
        for amount in entry.worth.unpriced_tokens:
            yield f"Not in the sum: {amount.token.label} of {where} ({amount.reason})"


def _disputes(whole: WholePortfolio) -> Iterator[str]:
    """Each token whose sources disagree, once a network."""
    told = set()
    for entry in whole.entries:
        if entry.worth is None:
            continue
        overview = entry.worth.overview
        for sentence in overview.prices.dispute_words(overview.tokens):
            if (entry.network.name, sentence) not in told:
                told.add((entry.network.name, sentence))
                yield f"{sentence} on {entry.network.name}"


def _entry_document(entry: PortfolioEntry) -> dict[str, Json]:
    told: dict[str, Json] = {
        **parts(entry, "wallet", "whole"),
        "label": entry.label or None,
        "network": entry.network.name,
        "chainId": entry.network.chain_id,
        "trouble": entry.trouble or None,
        **{attachment.name: attachment.document for attachment in entry.attachments},
    }
    if entry.worth is None:
        return {**told, "total": None}
    worth = entry.worth
    return {
        **told,
        "total": round(float(worth.total), _PLACES),
        "inWallet": round(float(worth.idle_value), _PLACES),
        "idle": [{**document(amount), "source": _source(amount.value)} for amount in worth.idle],
        "tokens": [_token_document(worth, address) for address in worth.overview.tokens],
        "disputed": list(worth.overview.prices.dispute_words(worth.overview.tokens)),
        "positions": wallet_document(entry.network, worth.overview, None),
    }


def _token_document(worth: WalletWorth, address: str) -> dict[str, Json]:
    """Everything owned of one token, in the wallet and in positions, in its smallest units."""
    overview = worth.overview
    token = overview.tokens[address]
    idle = next((amount.amount for amount in worth.idle if amount.token.address == address), None)
    amount = worth.total_of(address)
    return {
        "token": token.label,
        "address": address,
        "decimals": token.decimals,
        "idle": "0" if idle is None else units(idle),
        "amount": units(amount),
        "value": number(_value(worth, address, amount)),
    }


def _value(worth: WalletWorth, address: str, amount: Quantity[int]) -> Quantity[Fraction]:
    if isinstance(amount, Unknown):
        return amount
    return worth.overview.prices.value(
        worth.overview.tokens[address], amount.value, worth.overview.portfolio.unit
    )


def _source(value: Quantity[Fraction]) -> str:
    return value.source if isinstance(value, Known) else f"unknown: {value.reason}"
