"""The day's limit against several approvals that each keep within it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chain.devnet.world.accounts import WIDE_PROVIDER
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.outbox import Outbox
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from zuno_tui.gate.apply import unused_approval
from zuno_tui.gate.approvals import refuse_past_the_day

if TYPE_CHECKING:
    from pathlib import Path

    from chain.devnet.launch import DevnetReady


def test_two_wallets_of_one_home_share_the_days_limit(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(devnet, CommandLine(tmp_path / "home"), capsys)
    desk.command.home.mkdir(mode=0o700)
    (desk.command.home / "settings.toml").write_text("[limits]\ndaily_usd = 900\n")
    other = ("--address", WIDE_PROVIDER.address)
    theirs = desk.here("positions", *other, "--json").data["positions"]
    pool = desk.positions()[str(desk.token_id("healthy"))]["poolId"]
    in_pool = next(one["tokenId"] for one in theirs if one["poolId"] == pool)

    first = desk.approved("increase", str(desk.token_id("healthy")), "0.1 WETH")
    second = desk.approved("increase", in_pool, "0.1 WETH", *other)

    with Outbox.open(desk.command.home / "outbox.db") as outbox:
        now = first["expiresAt"] - 600
        waiting = unused_approval(outbox, second["planId"], None)[0]
        assert 450_000_000 < waiting.notional <= 900_000_000
        refuse_past_the_day(outbox, waiting, now)
        outbox.consume(first["hash"], now=now)
        with pytest.raises(OutboxError, match=r"past the day's limit of \$900\.00"):
            refuse_past_the_day(outbox, waiting, now)
        refuse_past_the_day(outbox, waiting, now + 24 * 3600)
