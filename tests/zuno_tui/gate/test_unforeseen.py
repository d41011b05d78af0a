"""What fails after something may have left, for a reason nobody foresaw: never called nothing."""

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.fork_server import fork_server
from tests.waiting import HUNG_SECONDS
from tests.zuno_tui.gate.desk import Desk

FULL = Path("/dev/full")
"""Takes no byte: a result that is printed there fails after all else is done."""


def into_full(desk: Desk, *arguments: str) -> tuple[int | None, str]:
    """The exit code, and what was told besides."""
    with Path(os.devnull).open() as nothing, FULL.open("w") as full, tempfile.TemporaryFile() as on:
        child = fork_server().start(
            "zuno_tui",
            *arguments,
            *desk.flags,
            "--json",
            environment={**os.environ, "ZUNO_HOME": str(desk.command.home)},
            files=[nothing.fileno(), full.fileno(), on.fileno()],
        )
        code = child.ended(HUNG_SECONDS)
        on.seek(0)
        return code, on.read().decode()


def confirmed(approval: dict[str, Any]) -> tuple[str, str, str]:
    return approval["planId"], "--confirm", approval["hash"]


def assert_not_nothing(told: tuple[int | None, str]) -> None:
    code, words = told
    assert code not in (0, None), words
    assert "Nothing was sent" not in words
    assert "othing was signed" not in words


@pytest.fixture
def waiting(desk: Desk) -> dict[str, Any]:
    """Signed and in no block, and whoever sent it was killed."""
    approval = desk.approved("wrap", "0.04")
    desk.killed_while_waiting(approval, at="wrap")
    return approval


def test_a_plan_that_was_sent(desk: Desk) -> None:
    nonce = desk.nonce()
    assert_not_nothing(into_full(desk, "apply", *confirmed(desk.approved("wrap", "0.04"))))
    assert desk.nonce() == nonce + 1


@pytest.mark.parametrize("action", ["cancel", "speed-up"])
def test_what_waits_in_the_outbox_and_is_replaced(
    desk: Desk, waiting: dict[str, Any], action: str
) -> None:
    nonce = desk.nonce()
    assert_not_nothing(into_full(desk, "outbox", action, *confirmed(waiting)))
    desk.ask("evm_setAutomine", True)
    desk.ask("evm_mine")
    assert desk.nonce() == nonce + 1


def test_what_is_sent_again(desk: Desk, waiting: dict[str, Any]) -> None:
    nonce = desk.nonce()
    desk.ask("anvil_dropAllTransactions")
    desk.ask("evm_setAutomine", True)
    assert_not_nothing(into_full(desk, "outbox", "resume", *confirmed(waiting)))
    assert desk.nonce() == nonce + 1


def test_an_order_that_stands(desk: Desk) -> None:
    desk.delegate()
    order = desk.approved("order", "close", str(desk.token_id("healthy")), "below", "2000")
    assert_not_nothing(into_full(desk, "apply", *confirmed(order)))
    assert len(desk.here("orders", "--json").data["orders"]) == 1


def test_a_hedge_that_was_sent(desk: Desk) -> None:
    settings = desk.command.home / "settings.toml"
    settings.write_text("[trade]\nhedge_seconds = 1\n", "utf-8")
    settings.chmod(0o600)
    plan = desk.approved("hedge", str(desk.token_id("healthy")))
    hedge = desk.approved("approve", plan["planId"])
    assert_not_nothing(into_full(desk, "apply", *confirmed(hedge)))
    assert desk.here("trade", "status", "--json").data["positions"]
