import json

import pytest

from zuno_tui.present.output import OutputColumn, print_json, table


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
