"""kill −9 and a full disk while an order is signed: at most one stands, and none is lost unsaid."""

import errno
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chain.base.home import Home
from chain.execution.outbox.outbox import Outbox
from chain.standing_orders.book import StandingOrders
from chain.standing_orders.order import StandingOrder
from tests.zuno_tui.conftest import Spoken
from tests.zuno_tui.gate.desk import REFUSED, Desk
from tests.zuno_tui.gate.test_standing_orders import STATE, level
from zuno_tui.cli import main

MOMENTS = 11
"""How often an apply of an order is about to change its home: six times before the signature, once
for the book's lock, once for the approval's use, three times for the order's file, the last when
that is in its place."""
SIGNED, USED, KEPT = 7, 9, 11
"""The first moments after the signature, the approval's use and the order's file."""
_CHANGES = os.O_WRONLY | os.O_RDWR | os.O_DIRECTORY


def _changes(event: str, arguments: tuple[Any, ...], home: Path) -> bool:
    match event, arguments:
        case "open", (path, _, flags) if flags & _CHANGES:
            pass
        case ("os.rename", (_, path, *_)) | ("sqlite3.connect", (path, *_)):
            pass
        case _:
            return False
    return isinstance(path, str | Path) and Path(path).is_relative_to(home)


def _die(_: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _disk_is_full(event: str) -> None:
    if event == "sqlite3.connect":
        raise sqlite3.OperationalError("database or disk is full")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _apply(
    desk: Desk, plan: dict[str, Any], moment: int, befalls: Callable[[str], None], *, lasts: bool
) -> Spoken:
    """In a copy of this process, which this befalls at one change of the home or from there on."""
    home, told = desk.command.home, desk.command.home.with_name("told")
    arguments = ("apply", plan["planId"], "--confirm", plan["hash"], *desk.flags)
    child = os.fork()
    if child == 0:
        left, code = moment, 1

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal left
            if _changes(event, arguments, home):
                left -= 1
                if left == 0 or (lasts and left < 0):
                    befalls(event)

        try:
            with told.open("w") as words:
                sys.stdout = sys.stderr = words
                sys.addaudithook(hook)
                code = main([*arguments, "--home", str(home)])
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return Spoken(os.waitstatus_to_exitcode(status), "", told.read_text())


def _orders(desk: Desk) -> list[StandingOrder]:
    home = Home.locate(os.environ, desk.command.home)
    return [kept.order for kept in StandingOrders(home.orders).all()]


def _proposed(desk: Desk) -> dict[str, Any]:
    words = ("close", str(desk.token_id(STATE)), "below", level(desk, 0.99))
    return desk.approved("order", *words)


def _is_used(desk: Desk, plan: dict[str, Any]) -> bool:
    with Outbox.open(Home.locate(os.environ, desk.command.home).outbox) as outbox:
        given = outbox.find_given(plan["hash"])
    assert given is not None
    return given.used_at is not None


def _assert_one_comes_of_it(desk: Desk, plan: dict[str, Any], moment: int) -> None:
    """What is said of it afterwards is so, and following it ends with one order."""
    kept = _orders(desk)
    assert (len(kept), _is_used(desk, plan)) == (moment >= KEPT, moment >= USED)
    again = desk.apply(plan["planId"], "--confirm", plan["hash"])
    if kept:
        assert (again.code, _orders(desk)) == (REFUSED, kept)
        assert "was applied before" in again.words
    elif moment < USED:
        assert again.code == 0, again.words
    else:
        assert (again.code, _orders(desk)) == (REFUSED, [])
        for asked in (again, desk.here("approve", plan["planId"])):
            assert "No such order is kept here" in asked.words
            assert "Nothing was signed" not in asked.words
            assert f"zuno order close {desk.token_id(STATE)}" in asked.words
        anew = _proposed(desk)
        done = desk.apply(anew["planId"], "--confirm", anew["hash"])
        assert done.code == 0, done.words
    assert len(_orders(desk)) == 1


def _killed(desk: Desk, moment: int) -> None:
    desk.delegate()
    plan = _proposed(desk)
    ended = _apply(desk, plan, moment, _die, lasts=False)
    assert ended.code == (-signal.SIGKILL if moment <= MOMENTS else 0), ended.words
    assert moment > MOMENTS or "stands" not in ended.words
    _assert_one_comes_of_it(desk, plan, moment)


def _on_a_full_disk(desk: Desk, moment: int) -> None:
    desk.delegate()
    plan = _proposed(desk)
    ended = _apply(desk, plan, moment, _disk_is_full, lasts=True)
    assert "Traceback" not in ended.words
    assert "Unexpected" not in ended.words, ended.words
    assert (ended.code == 0) is ("Order 1 stands" in ended.words) is (moment >= KEPT)
    assert "Nothing was signed" not in ended.words, ended.words
    _assert_one_comes_of_it(desk, plan, moment)


@pytest.mark.parametrize("moment", [USED, KEPT])
def test_killed_after_the_signature(desk: Desk, moment: int) -> None:
    _killed(desk, moment)


@pytest.mark.parametrize("moment", [USED, KEPT])
def test_a_disk_that_is_full_after_the_signature(desk: Desk, moment: int) -> None:
    _on_a_full_disk(desk, moment)


@pytest.mark.soak
@pytest.mark.parametrize("moment", range(1, MOMENTS + 2))
def test_killed_at_every_moment_of_signing(desk: Desk, moment: int) -> None:
    _killed(desk, moment)


@pytest.mark.soak
@pytest.mark.parametrize("moment", range(SIGNED, MOMENTS + 2))
def test_a_full_disk_at_every_moment_after_the_signature(desk: Desk, moment: int) -> None:
    _on_a_full_disk(desk, moment)
