"""The desk's page, the shell's text and the JSON of an approval hold the same rows and figures."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from chain.devnet.launch import DevnetReady
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.desk.sitting import Sitting, opening, sitting
from tests.zuno_tui.gate.desk import REFUSED, Desk
from zuno_tui.desk.events import ConfirmationAsked
from zuno_tui.intents.intents import Apply
from zuno_tui.present.receipt_lines import page_text, receipt_document
from zuno_tui.present.views import ApprovalView

pytestmark = pytest.mark.usefixtures("changed_world")

OF_A_PLAN = ("approve", "@plan")
PLANS: dict[str, tuple[str, ...]] = {
    "move": (*OF_A_PLAN, "--candidate", "A"),
    "close as a plan says": (*OF_A_PLAN, "--candidate", "exit"),
    "collect": ("collect", "@healthy"),
    "collect all": ("collect", "all"),
    "compound": ("compound", "@stable"),
    "add": ("increase", "@healthy", "0.01 WETH"),
    "remove a part": ("decrease", "@healthy", "40"),
    "close": ("close", "@healthy"),
    "create": ("create", "1 WETH with USDC"),
    "limit": ("create", "1 WETH sell at 9000"),
    "swap": ("swap", "0.3", "WETH", "USDC"),
    "wrap": ("wrap", "1"),
    "unwrap": ("unwrap", "0.1"),
    "delegate": ("wallet", "delegate"),
}
TRADES: dict[str, tuple[str, ...]] = {"hedge": ("hedge", "@healthy")}
DELEGATED: dict[str, tuple[str, ...]] = {
    "as one transaction": ("increase", "@healthy", "0.01 WETH"),
    "undelegate": ("wallet", "undelegate"),
    "stop below": ("order", "close", "@healthy", "below", "2000"),
    "close above": ("order", "close", "@healthy", "above", "9000"),
    "close out of range": ("order", "close", "@healthy", "out-of-range", "2h"),
    "close at a loss": ("order", "close", "@healthy", "loss-over", "5%"),
    "collect when worth it": (
        *("order", "collect", "@healthy", "every", "7d", "times", "4", "over", "$50"),
    ),
}


def in_shell(shell: Desk, words: tuple[str, ...]) -> dict[str, Any]:
    """The document of the approval, of whatever had to be argued about before it."""
    named = tuple(
        str(shell.token_id(word[1:])) if word in ("@healthy", "@stable") else word for word in words
    )
    if "@plan" in named:
        plan = shell.recommended("above its range")["planId"]
        return shell.approved(*(plan if word == "@plan" else word for word in named))
    document = shell.approved(*named, *(("--deterministic",) if named[0] == "create" else ()))
    if "hash" in document:
        return document
    return shell.approved("approve", document["planId"], "--candidate", "A")


async def assert_one_receipt(desk: Sitting, shell: Desk, approved: dict[str, Any]) -> None:
    since = len(desk.heard)
    await desk.ask(Apply(approved["planId"]))
    page: ApprovalView = (await desk.until(ConfirmationAsked, since=since)).approval
    # Without a terminal `apply` shows its page and signs nothing.
    shown = await asyncio.to_thread(shell.here, "apply", approved["planId"])

    told = approved["receipt"]
    assert shown.code == REFUSED, shown.words
    assert page.hash == approved["hash"]
    assert told["costUsd"] is not None
    assert told["mostUsd"] is None or told["mostUsd"] >= told["costUsd"]
    assert receipt_document(page) == told
    text = list(page_text(page))
    assert text[0].endswith(f" · costs {page_cost(page)}")
    lines = shown.words.splitlines()
    assert lines[lines.index(text[0]) :][: len(text)] == text


def page_cost(page: ApprovalView) -> str:
    receipt = page.receipt
    assert receipt is not None
    assert receipt.cost is not None
    most = receipt.most_cost
    bound = "no known maximum" if most is None else f"at most {dollars(most)}"
    return f"{dollars(receipt.cost)}, {bound}"


def dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 0.01 or amount == 0 else "<$0.01"


@pytest.mark.parametrize("kinds", [PLANS, TRADES, DELEGATED], ids=["plans", "trades", "delegated"])
async def test_page_text_and_json_of_every_kind_of_act_are_one_receipt(
    devnet: DevnetReady,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kinds: dict[str, tuple[str, ...]],
) -> None:
    home = tmp_path / "home"
    shell = Desk(devnet, CommandLine(home), capsys)
    if kinds is DELEGATED:
        shell.delegate()
    async with sitting(opening(home, devnet.url)) as desk:
        for kind, words in kinds.items():
            approved = await asyncio.to_thread(in_shell, shell, words)
            try:
                await assert_one_receipt(desk, shell, approved)
            except AssertionError as error:
                raise AssertionError(f"{kind}: {error}") from error


FOLLOWING: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "revoke": (("increase", "@healthy", "0.01 WETH"), ("revoke", "--all")),
    "cancel": (("order", "close", "@healthy", "below", "2000"), ("order", "cancel", "1")),
    "unhedge": (("hedge", "@healthy"), ("unhedge", "@healthy")),
}


@pytest.mark.parametrize(("before", "words"), FOLLOWING.values(), ids=FOLLOWING)
async def test_what_undoes_an_act_has_one_receipt_too(
    devnet: DevnetReady,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    before: tuple[str, ...],
    words: tuple[str, ...],
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    settings = home / "settings.toml"
    settings.write_text("[trade]\nhedge_seconds = 1\n", "utf-8")
    settings.chmod(0o600)
    shell = Desk(devnet, CommandLine(home), capsys)
    if before[0] == "order":
        shell.delegate()
    first = await asyncio.to_thread(in_shell, shell, before)
    done = await asyncio.to_thread(shell.apply, first["planId"], "--confirm", first["hash"])
    assert done.code == 0, done.words
    approved = await asyncio.to_thread(in_shell, shell, words)
    async with sitting(opening(home, devnet.url)) as desk:
        await assert_one_receipt(desk, shell, approved)

    if words[0] == "unhedge":
        assert approved["receipt"]["profitUsd"] is not None
        parts = [row["part"] for row in approved["receipt"]["lines"]]
        assert parts == ["trade", "result", "fees", "pay", "bound"]
