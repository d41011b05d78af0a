"""The form of an order: keys write the line, and nothing is asked for that is not one."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from chain.protocols.reference import v4_position
from tests.zuno_tui.screen.looks import lines_of
from tests.zuno_tui.screen.scenes import MORNING, POSITIONS, ScriptedLink, desk_app, play
from tests.zuno_tui.screen.screen_scenes import ORDER_FORM
from zuno_tui.features.orders.intents import OrderClose, OrderCollect, OrderForm
from zuno_tui.features.orders.screen import OrderFormScreen


async def test_a_key_at_the_row_opens_it() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(120, 36)) as pilot:
        await play(pilot, *MORNING)
        await pilot.press("O")
        assert link.intents == [OrderForm(POSITIONS.rows[0].ref)]
        await play(pilot, ORDER_FORM)
        assert isinstance(pilot.app.screen, OrderFormScreen)
        await pilot.press("escape")
        assert len(pilot.app.screen_stack) == 1


@pytest.mark.parametrize(
    ("keys", "asked"),
    [
        (("enter", *"2,800", "enter"), OrderClose(v4_position(28), ("below", "2,800"))),
        (
            ("j", "enter", *"3400", "tab", *"14d", "enter"),
            OrderClose(v4_position(28), ("above", "3400", "until", "14d")),
        ),
        (("j", "j", "enter", *"2h", "enter"), OrderClose(v4_position(28), ("out-of-range", "2h"))),
        (
            ("j", "j", "j", "enter", *"5%", "enter"),
            OrderClose(v4_position(28), ("loss-over", "5%")),
        ),
        (
            ("k", "enter", *"$50", "enter"),
            OrderCollect(v4_position(28), ("every", "7d", "times", "4", "over", "$50")),
        ),
        (("enter", "enter"), None),
        (("enter", *"soon", "enter"), None),
        (("enter", *"2800", "tab", *"1y", "enter"), None),
    ],
)
async def test_what_is_filled_in_is_what_is_asked_for(
    keys: tuple[str, ...], asked: OrderClose | OrderCollect | None
) -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(80, 24)) as pilot:
        await play(pilot, *MORNING, ORDER_FORM)
        await pilot.press(*keys)
        await pilot.pause()
        assert link.intents == ([] if asked is None else [asked])
        assert isinstance(pilot.app.screen, OrderFormScreen) is (asked is None)


async def test_an_account_that_understands_no_orders_is_told_so_first() -> None:
    link = ScriptedLink()
    async with desk_app(link).run_test(size=(80, 24)) as pilot:
        await play(pilot, *MORNING, replace(ORDER_FORM, delegated=False))
        assert any("desk: delegate" in line for line in lines_of(pilot))
        await pilot.press("enter", *"2800", "enter")
        assert link.intents == []
