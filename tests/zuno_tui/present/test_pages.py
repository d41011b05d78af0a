"""Pages at any width and in any unit, nothing cut or beyond the edge; their documents."""

import json
import re
from fractions import Fraction

import pytest
from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import Known, Quantity, Units, Unknown
from chain.math.liquidity import Amounts
from chain.prices.price import WorthUnit
from chain.protocols.reference import v4_position
from chain.tokens import Token
from tests.zuno_tui.screen.visit_scenes import SENT
from zuno_tui.present.charts import plain
from zuno_tui.present.document import document
from zuno_tui.present.output import OutputColumn, json_text, print_json, table
from zuno_tui.present.pages.balances import TokenBalance, WalletBalances, balances_page
from zuno_tui.present.pages.exit_drill import ExitDrillReport, WayOut, exit_drill_page
from zuno_tui.present.pages.export import ExportedPlan, ExportedStep, export_page
from zuno_tui.present.pages.history import HistoryRecord, history_page
from zuno_tui.present.pages.outbox import outbox_page
from zuno_tui.present.pages.page import (
    Page,
    PageCell,
    PageTable,
    draw_page,
    page_columns,
    page_text,
)
from zuno_tui.present.terminal import Terminal, cell_width
from zuno_tui.present.views import DispatchView

STRANGE = "\x1b[31m流動性 of somebody who wrote a whole sentence\u202e"


def _token(symbol: str, *, verified: bool = True) -> Token:
    return Token("0x" + "12" * 20, symbol, 18, verified, suspicious=False)


def _balance(symbol: str, amount: int, price: Fraction | None) -> TokenBalance:
    if price is None:
        nobody = Unknown("nobody trades it")
        return TokenBalance(
            _token(symbol, verified=False), Known(amount, "node"), nobody, nobody, nobody.reason
        )
    value = Known(price * amount / 10**18, "pool")
    return TokenBalance(_token(symbol), Known(amount, "node"), Known(price, "pool"), value, "pool")


def _held(unit: WorthUnit) -> WalletBalances:
    return WalletBalances(
        network="base",
        chain_id=8453,
        block=31_204_113,
        owner="0x" + "ab" * 20,
        unit=unit,
        balances=(
            _balance("WETH", 12_345 * 10**18, Fraction(3_094)),
            _balance("DUST", 7, Fraction(1, 3)),
            _balance(STRANGE, 10**30, None),
        ),
        disputes=("Two sources disagree about WETH by 3%.",),
    )


class _Bill(Struct, frozen=True):
    wei: Units
    paid: Quantity[Amounts]
    data: bytes
    secret: str = "left out"

    @property
    def double(self) -> Units:
        return 2 * self.wei


def test_a_record_is_its_document_with_properties_named_and_without_what_is_left_out() -> None:
    bill = _Bill(10**30, Known(Amounts(1, 10**30), "node"), b"\x01\xff")
    unread = _Bill(0, Unknown("no node answered"), b"")

    assert document(bill, "double", without=("secret",)) == {
        "wei": str(10**30),
        "paid": {"amount0": "1", "amount1": str(10**30)},
        "data": "0x01ff",
        "double": str(2 * 10**30),
    }
    assert document(unread)["unknown"] == {"paid": "no node answered"}


@pytest.mark.parametrize("unit", WorthUnit)
@pytest.mark.parametrize("width", [40, 60, 78, 118, 198, None])
def test_no_line_is_longer_than_its_page_and_no_cell_is_lost(
    unit: WorthUnit, width: int | None
) -> None:
    lines = [plain(line) for line in draw_page(balances_page(_held(unit), "Base"), width)]
    words = "".join("".join(lines).split())

    assert width is None or max(map(cell_width, lines)) <= width
    for wanted in ("WETH", "DUST", "12,345", "unknown", "alltokens", "disagree"):
        assert wanted in words
    assert not set("\x1b\u202e") & set(words)
    assert ("$" in words) is (unit is WorthUnit.USD)


def test_losses_grow_to_the_left_of_nothing_and_gains_to_the_right() -> None:
    rows = (
        (PageCell("a"), PageCell("+4.00", "good", 1.0)),
        (PageCell("b"), PageCell("−2.00", "bad", 0.5)),
        (PageCell("c"), PageCell("–", "dim")),
    )
    drawn = [plain(line) for line in draw_page(_table_of(rows), 40)]
    won, lost, unknown = drawn[1:4]
    assert won.index("│") == lost.index("│"), "one line that is nothing"
    assert "━" not in won[: won.index("│")]
    assert "━" not in lost[lost.index("│") :]
    assert won.count("━") > lost.count("━") > 1
    assert "│" not in unknown
    only_won = [plain(line) for line in draw_page(_table_of(rows[:1]), 40)]
    assert "│" not in only_won[1]


def _table_of(rows: tuple[tuple[PageCell, ...], ...]) -> Page:
    return Page("", ((PageTable(page_columns("NAME", "PROFIT>"), rows),),))


def test_a_balance_is_told_with_its_share_of_what_has_a_price() -> None:
    held = replace(
        _held(WorthUnit.USD),
        balances=(
            _balance("WETH", 10**18, Fraction(3_000)),
            _balance("USDC", 10**21, Fraction(1)),
            _balance(STRANGE, 10**30, None),
        ),
    )
    lines = [plain(line) for line in draw_page(balances_page(held, "Base"), 118)]
    (head,) = [line for line in lines if "SHARE" in line]
    shares = [float(word[:-1]) for line in lines for word in line.split() if word.endswith("%")]
    assert head.index("VALUE") < head.index("SHARE") < head.index("PRICE FROM")
    assert shares == [75, 25]


@pytest.mark.parametrize("unit", WorthUnit)
@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_drill_keeps_its_gas_beside_what_is_received(unit: WorthUnit, width: int) -> None:
    way = WayOut(
        token_id=v4_position(27),
        pool="WBTC/USDC 0.3%",
        held=True,
        open=True,
        words="",
        warnings=(),
        method="close",
        token0=_token("USDC"),
        token1=_token("WBTC"),
        received0=3_414 * 10**18,
        received1=38 * 10**15,
        value=Known(Fraction(6_962), "pool"),
        gas=172_914,
    )
    total = Known(Fraction(13_924), "pool")
    drill = ExitDrillReport("base", 8453, 7, "0x" + "ab" * 20, unit, total, (way, way))
    lines = [plain(line) for line in draw_page(exit_drill_page(drill, "Base"), width)]

    assert max(map(cell_width, lines)) <= width
    assert [line.split()[-1] for line in lines if "6,962" in line] == ["173k", "173k"]
    assert [line.split()[-1] for line in lines if "all positions" in line] == ["346k"]


@pytest.mark.parametrize("unit", WorthUnit)
def test_history_says_why_it_is_in_dollars_where_the_unit_is_another(unit: WorthUnit) -> None:
    nothing = HistoryRecord(WorthUnit.USD, True, True, 0.0, 0.0, (), (), ())
    told = " ".join(plain(line) for line in draw_page(history_page(nothing, "", unit), 80))
    assert ("This page is in dollars, not in ETH" in told) is (unit is WorthUnit.ETH)


def test_a_shell_without_colours_gets_the_lines_of_the_screen() -> None:
    page = balances_page(_held(WorthUnit.USD), "Base")
    drawn = [plain(line).rstrip() for line in draw_page(page, 78)]

    assert page_text(page, Terminal(78, colours=False)).splitlines() == drawn
    coloured = page_text(page, Terminal(78, colours=True))
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured).splitlines() == drawn


def test_a_document_is_the_record_with_reasons_for_what_is_unknown() -> None:
    told = json.loads(json_text(document(_held(WorthUnit.USD))))
    known, dust, strange = told["balances"]

    assert told["chainId"] == 8453
    assert (known["amount"], dust["amount"]) == (str(12_345 * 10**18), "7")
    assert strange["price"] is None
    assert strange["unknown"] == {"price": "nobody trades it", "value": "nobody trades it"}
    assert "unknown" not in known


_ROUTER, _TOKEN = "0x" + "ab" * 20, "0x" + "cd" * 20
_DEADLINE = 1_768_180_500


def _plan(*, for_safe: bool, has_own_key: bool = False) -> ExportedPlan:
    steps = (
        ExportedStep("approve WETH", _TOKEN, 0, None),
        ExportedStep("open WETH/USDC", _ROUTER, 15 * 10**17, _DEADLINE),
    )
    return ExportedPlan(
        plan_id="plan_77",
        headline="Open a position",
        coin="ETH",
        sender=_ROUTER,
        for_safe=for_safe,
        has_own_key=has_own_key,
        expires_at=_DEADLINE,
        steps=steps,
    )


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("for_safe", [True, False])
def test_each_transaction_stands_with_its_value_and_its_deadline(
    width: int, *, for_safe: bool
) -> None:
    lines = [plain(line) for line in draw_page(export_page(_plan(for_safe=for_safe)), width)]
    told = " ".join(" ".join(lines).split())
    assert max(map(len, lines)) <= width
    assert "2 transactions to sign elsewhere" in told
    assert "1.5 2026-01-12 01:15 UTC" in told
    assert "none" in told
    # The file is saved already: only another form of it has to be written.
    assert "batch.json" not in told
    assert ("zuno export plan_77 --format raw > transactions.json" in told) is for_safe


def test_a_batch_for_a_safe_says_so_to_a_wallet_that_is_none() -> None:
    def told(plan: ExportedPlan) -> str:
        return " ".join(plain(line) for line in draw_page(export_page(plan), 200))

    own = told(_plan(for_safe=True, has_own_key=True))
    assert "a Safe cannot send this batch" in own
    assert "zuno apply plan_77" in own
    assert "Transaction Builder" not in own
    unknown = told(_plan(for_safe=True))
    assert "only if that address is a Safe" in unknown
    assert "Transaction Builder" in unknown
    listed = told(_plan(for_safe=False, has_own_key=True))
    assert "Safe" not in listed


APPROVED = DispatchView(
    "plan_00112233aabbccdd",
    1_768_250_000.0,
    "Close #26",
    "approved, not applied",
    (("close #26", "approved", ""),),
    (),
    (),
    most_gas="0.0004053 ETH",
)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_what_was_only_approved_stands_apart_with_what_it_may_cost(width: int) -> None:
    lines = [plain(line) for line in draw_page(outbox_page((APPROVED, *SENT)), width)]
    assert max(map(len, lines)) <= width
    assert "2 sent · 1 approved and not sent" in " ".join(lines)
    approved, sent = (
        next(place for place, line in enumerate(lines) if title in line)
        for title in ("APPROVED, NOT SENT", "  SENT")
    )
    of_plan = next(place for place, line in enumerate(lines) if "Close #26" in line)
    others = [place for place, line in enumerate(lines) if "Collect the fees of #7" in line]
    assert approved < of_plan < sent < others[0]
    assert any("0.0004053 ETH" in line for line in lines[approved:sent])


def test_nothing_is_said_of_what_is_not_there() -> None:
    told = " ".join(plain(line) for line in draw_page(outbox_page(SENT), 120))
    assert "2 sent" in told
    assert "NOT SENT" not in told


def test_columns_line_up_whatever_is_in_them() -> None:
    lines = table(
        (OutputColumn("NAME"), OutputColumn("AMOUNT", "right")),
        [("WETH", "1.5"), ("漢字", "12,000"), ("é́", "3")],
    )

    assert lines == ["NAME  AMOUNT", "WETH     1.5", "漢字  12,000", "é́          3"]


def test_no_cell_can_steer_the_terminal() -> None:
    hostile = "USDC\x1b]52;c;AAAA\x07\u202e\x9b31m\n0xBAD"

    (_, line) = table((OutputColumn("TOKEN"),), [(hostile,)])

    assert line == "USDC]52;c;AAAA31m0xBAD"


def test_json_is_ascii_and_refuses_numbers_other_languages_misread(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_json({"symbol": "\x1b[31m漢", "liquidity": str(2**200)})

    printed = capsys.readouterr().out
    assert printed.isascii()
    assert "\x1b" not in printed
    assert json.loads(printed)["symbol"] == "\x1b[31m漢"
    with pytest.raises(TypeError, match="2\\^53"):
        print_json({"positions": [{"liquidity": 2**60}]})
    with pytest.raises(ValueError, match="JSON"):
        print_json({"value": float("nan")})
