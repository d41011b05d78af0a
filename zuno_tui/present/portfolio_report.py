"""Several wallets on several networks in words and as a document, each row naming both."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from agents.monitor.alerts.alert import alert_document
from chain.base.quantity import Known, Quantity, Unknown
from chain.contracts.addresses import shortened
from zuno_tui.present.hedge_lines import hedge_result_lines, hedge_results_document
from zuno_tui.present.output import Json, OutputColumn, table
from zuno_tui.present.position_document import wallet_document
from zuno_tui.present.words import money, number, units

if TYPE_CHECKING:
    from chain.positions.wallet_worth import IdleAmount, WalletWorth
    from zuno_tui.present.whole_portfolio import PortfolioEntry, WholePortfolio

_COLUMNS = (
    OutputColumn("WALLET"),
    OutputColumn("NETWORK"),
    OutputColumn("POSITIONS", "right"),
    OutputColumn("IN POSITIONS", "right"),
    OutputColumn("UNCOLLECTED", "right"),
    OutputColumn("IN WALLET", "right"),
    OutputColumn("TOTAL", "right"),
    OutputColumn("NOTE"),
)
_PLACES = 8


def portfolio_heading(whole: WholePortfolio) -> tuple[str, ...]:
    """The sum first, and whether it is one of everything."""
    told = money(whole.total, whole.unit)
    together = f"Together {told}" if whole.whole else f"Together at least {told}: not all is in it"
    wallets = f"{whole.wallets} {'wallet' if whole.wallets == 1 else 'wallets'}"
    networks = f"{whole.networks} {'network' if whole.networks == 1 else 'networks'}"
    return (f"{together} · {wallets} on {networks}", *_left_out(whole), *_disputes(whole))


def portfolio_lines(whole: WholePortfolio) -> tuple[str, ...]:
    rows = [_cells(one, whole) for one in whole.entries]
    alerts = [
        f"{one.severity.value}: {one.network} {shortened(one.wallet_address)} {one.message}"
        for one in whole.alerts
    ]
    hedges = [
        line
        for one in whole.entries
        if one.hedges is not None
        for line in hedge_result_lines(one.hedges)
    ]
    return (*table(_COLUMNS, rows), *hedges, *(["", *alerts] if alerts else []))


def portfolio_document(whole: WholePortfolio) -> dict[str, Json]:
    return {
        "unit": whole.unit.value,
        "total": round(float(whole.total), _PLACES),
        "whole": whole.whole,
        "wallets": [_entry_document(one) for one in whole.entries],
        "alerts": [cast("dict[str, Json]", alert_document(one)) for one in whole.alerts],
    }


def wallet_words(entry: PortfolioEntry) -> str:
    """The wallet as a person knows it: by its name and enough of its address."""
    return f"{entry.label} {shortened(entry.wallet)}".strip()


def _cells(entry: PortfolioEntry, whole: WholePortfolio) -> tuple[str, ...]:
    if entry.worth is None:
        return (wallet_words(entry), entry.network.name, "", "", "", "", "unknown", entry.trouble)
    worth, unit = entry.worth, whole.unit
    positions = worth.overview.portfolio
    return (
        wallet_words(entry),
        entry.network.name,
        str(worth.overview.wallet.found),
        money(positions.principal, unit),
        money(positions.fees, unit),
        money(worth.idle_value, unit),
        money(worth.total, unit),
        entry.trouble,
    )


def _left_out(whole: WholePortfolio) -> Iterator[str]:
    for entry in whole.entries:
        where = f"{wallet_words(entry)} on {entry.network.name}"
        if entry.worth is None:
            yield f"Not in the sum: {where} ({entry.trouble})"
            continue
        for one in entry.worth.unpriced:
            yield f"Not in the sum: {one.token.label} of {where} ({one.reason})"


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
        "wallet": entry.wallet,
        "label": entry.label or None,
        "network": entry.network.name,
        "chainId": entry.network.chain_id,
        "whole": entry.whole,
        "trouble": entry.trouble or None,
        "hedges": None if entry.hedges is None else hedge_results_document(entry.hedges),
    }
    if entry.worth is None:
        return {**told, "total": None}
    worth = entry.worth
    return {
        **told,
        "total": round(float(worth.total), _PLACES),
        "inWallet": round(float(worth.idle_value), _PLACES),
        "idle": [_idle_document(one) for one in worth.idle],
        "tokens": [_token_document(worth, address) for address in worth.overview.tokens],
        "disputed": list(worth.overview.prices.dispute_words(worth.overview.tokens)),
        "positions": wallet_document(entry.network, worth.overview, None),
    }


def _idle_document(one: IdleAmount) -> dict[str, Json]:
    return {
        "token": one.token.label,
        "address": one.token.address,
        "decimals": one.token.decimals,
        "amount": units(one.amount),
        "value": number(one.value),
        "source": _source(one.value),
    }


def _token_document(worth: WalletWorth, address: str) -> dict[str, Json]:
    """Everything owned of one token, in the wallet and in positions, in its smallest units."""
    overview = worth.overview
    token = overview.tokens[address]
    idle = next((one.amount for one in worth.idle if one.token.address == address), None)
    amount = worth.owned(address)
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
