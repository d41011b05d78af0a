"""`zuno portfolio`, and the same at the desk: all wallets on all networks, and what they earned."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from chain.base.units import Known, Quantity, Unknown
from chain.contracts.addresses import shorten_address
from chain.prices.price import WorthUnit
from chain.protocols.reference import position_label, position_name
from zuno_tui.app.earned import (
    PositionEarnings,
    WalletEarnings,
    known_sum,
    read_whole_earnings,
)
from zuno_tui.app.portfolio import read_portfolio
from zuno_tui.app.positions import reading_progress, telling_progress
from zuno_tui.app.session import Session
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.exit_codes import DONE, NETWORK
from zuno_tui.present.pages.earned import closed_words
from zuno_tui.present.pages.portfolio import portfolio_page
from zuno_tui.present.portfolio import (
    EarnedRow,
    PortfolioView,
    ResultLine,
    idle_row,
    portfolio_document,
    summed_lines,
    wallet_words,
)
from zuno_tui.present.position import gain_tone
from zuno_tui.present.words import UNKNOWN, fee_text, gain_figure, money_figure

_TODAY, _WEEK, _MONTH = 1, 7, 30
STRETCHES = (_WEEK, _MONTH)
"""How many days back are read, one after the other: the first is soon there."""
_THOUSAND = 1_000


async def whole_portfolio(session: Session, wallets: Sequence[str]) -> CommandAnswer:
    whole = await read_portfolio(session, wallets, watch=telling_progress(session))
    code = DONE if any(entry.worth is not None for entry in whole.entries) else NETWORK
    document = portfolio_document(whole)
    if session.as_json:
        return CommandAnswer((), document, code=code)
    found: dict[tuple[int, str], WalletEarnings] = {}

    def keep(earnings: WalletEarnings) -> None:
        found[earnings.entry.network.chain_id, earnings.entry.wallet] = earnings

    progress = reading_progress(session.narrate)
    await read_whole_earnings(session, wallets, STRETCHES, keep, progress)
    view = portfolio_view(tuple(found.values()), whole.unit, "")
    return CommandAnswer((), document, code=code, view=portfolio_page(view, whole))


def portfolio_view(
    wallets: Sequence[WalletEarnings], unit: WorthUnit, reading: str
) -> PortfolioView:
    """One row for all, then each wallet on each network with its positions and its tokens."""
    worths = [wallet.entry.worth for wallet in wallets if wallet.entry.worth]
    inside = _rounded(sum((worth.overview.portfolio.total for worth in worths), Fraction(0)), unit)
    idle = _rounded(sum((worth.idle_value for worth in worths), Fraction(0)), unit)
    owned = _column_money(inside + idle, unit)
    least = "" if all(wallet.entry.whole for wallet in wallets) else "at least "
    parts = f"positions {_named_money(inside, unit)} + wallet {_named_money(idle, unit)}"
    known = [wallet for wallet in wallets if wallet.positions is not None]
    # Until what is closed was read a sum would grow before one's eyes.
    whole = bool(known) and all(wallet.closed is not None for wallet in known)
    together = _EarningsGroup(
        [position for wallet in known for position in _ever(wallet)] if whole else None,
        min((earnings.days for earnings in known), default=0),
        unit,
    )
    missing = [wallet for wallet in wallets if _trouble(wallet)]
    note = f"without {_counted(len(missing), 'wallet')} below" if missing else _unread(known)
    alone = len(wallets) == 1 and not missing
    rows = tuple(row for wallet in wallets for row in _wallet_rows(wallet, unit, alone=alone))
    total = together.row("all", "Total", owned, note)
    heading = f"{least}{_named_money(inside + idle, unit)} = {parts}"
    return PortfolioView(total, rows, heading, _place(wallets), reading, unit)


def _ever(wallet: WalletEarnings) -> Sequence[PositionEarnings]:
    return (*(wallet.positions or ()), *_over(wallet))


def _over(wallet: WalletEarnings) -> Sequence[PositionEarnings]:
    """Those that are closed; of what was given to another wallet nothing is known for good."""
    closed = () if wallet.closed is None else wallet.closed.positions
    return [each for each in closed if isinstance(each.fees, Known)]


def _unread(wallets: Sequence[WalletEarnings]) -> str:
    """Why closed positions are in no sum, where they are not."""
    told = (wallet.closed.unread for wallet in wallets if wallet.closed is not None)
    return next((f"without closed positions: {why}" for why in told if why), "")


def _place(wallets: Sequence[WalletEarnings]) -> str:
    if len(wallets) == 1:
        (entry,) = (wallet.entry for wallet in wallets)
        return f"{wallet_words(entry)} on {entry.network.title}"
    count = len({wallet.entry.wallet for wallet in wallets})
    networks = len({wallet.entry.network.chain_id for wallet in wallets})
    return f"{_counted(count, 'wallet')} on {_counted(networks, 'network')}"


def _rounded(value: Fraction, unit: WorthUnit) -> Fraction:
    """As it is shown, so that what is shown adds up."""
    return Fraction(round(value)) if unit is WorthUnit.USD and value >= _THOUSAND else value


def _column_money(value: Fraction, unit: WorthUnit) -> str:
    """Without cents from a thousand dollars on: they cost the names their room."""
    if unit is WorthUnit.USD and value >= _THOUSAND:
        return f"${round(value):,}"
    return money_figure(value, unit)


def _named_money(value: Fraction, unit: WorthUnit) -> str:
    """The same in a heading, where no column's head names the unit."""
    figures = _column_money(value, unit)
    return figures if unit is WorthUnit.USD else f"{figures} {unit.value.upper()}"


def _column_worth(value: Quantity[Fraction], unit: WorthUnit) -> str:
    return UNKNOWN if isinstance(value, Unknown) else _column_money(value.value, unit)


def _wallet_rows(earnings: WalletEarnings, unit: WorthUnit, *, alone: bool) -> Iterator[EarnedRow]:
    entry = earnings.entry
    key = f"{entry.network.chain_id}/{entry.wallet}"
    owned = UNKNOWN if entry.worth is None else _column_money(entry.worth.total, unit)
    indent = "" if alone else "  "
    if not alone:
        read = None if earnings.closed is None else _ever(earnings)
        group = _EarningsGroup(read, earnings.days, unit)
        name = f"{entry.network.title} · {entry.label or shorten_address(entry.wallet)}"
        yield group.row(key, name, owned, _trouble(earnings) or _unread([earnings]))
    if entry.worth is not None:
        held = _column_money(entry.worth.idle_value, unit)
        yield idle_row(f"{key}/idle", f"{indent}in the wallet", held)
    for position in earnings.positions or ():
        snapshot = position.snapshot
        label, fee = position_label(snapshot.ref), fee_text(snapshot.pool.fee_tier)
        name = f"{indent}{label} {position.pair} {fee}"
        by_itself = _EarningsGroup([position], earnings.days, unit)
        words = _column_worth(position.worth, unit)
        parts = (position.worth, position.fees, position.against_holding)
        unknown = next((part.reason for part in parts if isinstance(part, Unknown)), "")
        yield by_itself.row(f"{key}/{position_name(snapshot.ref)}", name, words, unknown)
    if closed := _over(earnings):
        name = f"{indent}{closed_words(len(closed))}"
        yield _EarningsGroup(closed, earnings.days, unit).row(f"{key}/closed", name, "–", "")


class _EarningsGroup(NamedTuple):
    """Positions that are told in one row."""

    positions: Sequence[PositionEarnings] | None
    """None where they were not read."""
    days: int
    """How far back they were."""
    unit: WorthUnit

    def row(self, key: str, name: str, owned: str, note: str) -> EarnedRow:
        if self.positions is None:
            words = UNKNOWN if note else "…"
            return EarnedRow(key, name, owned, words, words, words, words, words, note=note)
        result = known_sum([position.against_holding for position in self.positions])
        lines = [
            (line, float(position.opened))
            for position in self.positions
            if (line := _line(position))
        ]
        return EarnedRow(
            key,
            name,
            owned,
            today=self._fees(_TODAY),
            week=self._fees(_WEEK),
            month=self._fees(_MONTH),
            entry=_column_worth(
                known_sum([position.fees for position in self.positions]), self.unit
            ),
            result=gain_figure(result, self.unit),
            tone=gain_tone(result),
            note=note,
            line=summed_lines(lines),
        )

    def _fees(self, count: int) -> str:
        if self.days < count:
            return "…"
        found = [position.in_period(count).fees for position in self.positions or ()]
        return _column_worth(known_sum(found), self.unit)


def _line(earnings: PositionEarnings) -> ResultLine | None:
    if isinstance(earnings.unit1, Unknown) or not earnings.path:
        return None
    each = float(earnings.unit1.value)
    values = tuple(float(point.result) * each for point in earnings.path)
    return ResultLine(tuple(float(point.time) for point in earnings.path), values)


def _trouble(earnings: WalletEarnings) -> str:
    return earnings.trouble or earnings.entry.trouble


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"
