"""The trade desk at the desk: argued before one's eyes, approved, and sent by one typed word."""

from pathlib import Path

from chain.devnet.launch import DevnetReady
from chain.protocols.reference import v4_position
from tests.zuno_tui.desk.conftest import Node
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.desk.desk import Guide
from zuno_tui.desk.events import (
    ConfirmationAsked,
    ConfirmationEnded,
    PageReady,
    PlanChanged,
    PositionsChanged,
    Said,
)
from zuno_tui.features.trade.events import TradeChanged, TradeOpened
from zuno_tui.features.trade.intents import Hedge, Trade, Unhedge
from zuno_tui.intents.intents import Apply, Approve, Refresh, Show
from zuno_tui.present.receipt_lines import receipt_document


async def test_a_hedge_is_watched_approved_and_sent_once_by_the_word(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["healthy"])
    settings = tmp_path / "settings.toml"
    settings.write_text("[trade]\nhedge_seconds = 1\n", "utf-8")
    settings.chmod(0o600)
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(Hedge(token_id))
        begun = (await desk.until(TradeOpened)).view
        assert (begun.verdict, begun.plan_id) == (None, "")
        done = (await desk.until(TradeChanged, lambda told: bool(told.view.verdict))).view
        assert done.request_id == begun.request_id
        seen = [told.view for told in desk.all_heard(TradeChanged)]
        assert any(view.regime and view.conflicts is None for view in seen), "it is told as it goes"
        assert done.next_phrase == "approve"
        card = (await desk.until(PlanChanged)).view
        assert card is not None
        assert (card.plan_id, card.approves) == (done.plan_id, True)
        assert Guide().after_event(PlanChanged(card)).hint.startswith("a, Enter: approve")

        await desk.ask(Approve())
        approved = await desk.until(TradeChanged, lambda told: bool(told.view.progress))
        assert approved.view.next_phrase == "apply"
        shown = await desk.until(PlanChanged, lambda told: bool(told.view and told.view.approval))
        assert Guide().after_event(shown).hint.startswith("Nothing is sent yet")
        await desk.ask(Apply())
        approval = (await desk.until(ConfirmationAsked)).approval
        assert shown.view is not None
        assert shown.view.approval is not None
        assert receipt_document(approval) == receipt_document(shown.view.approval)
        assert approval.plan_id == done.plan_id
        await desk.desk.confirm(approval.hash, "apply", None)
        refused = await desk.until(ConfirmationEnded)
        assert refused.approval_hash == approval.hash

        since = len(desk.heard)
        await desk.ask(Apply(done.plan_id))
        again = await desk.until(ConfirmationAsked, since=since)
        await desk.desk.confirm(again.approval.hash, again.approval.word, None)
        sent = await desk.until(
            PlanChanged, lambda told: bool(told.view and told.view.result), since=since
        )
        assert sent.view is not None
        assert sent.view.result is not None
        assert sent.view.result.done
        assert len(sent.view.result.lines) == len(approval.steps)
        told = [each.view.progress for each in desk.all_heard(PlanChanged) if each.view]
        waits = [steps[0].words for steps in told if steps and steps[0].state == "under way"]
        assert any("s left" in words for words in waits), "a countdown while the order rests"
        told_of_it = [words for said in desk.all_heard(Said) if (words := said.words)]
        assert not [words for words in told_of_it if done.plan_id in words]

        def is_noted(told: PositionsChanged) -> bool:
            notes = {row.ref: row.notes for row in told.view.rows}
            return any(note.startswith("short ") for note in notes.get(token_id, ()))

        await desk.ask(Refresh())
        await desk.until(PositionsChanged, is_noted, since=since)
        since = len(desk.heard)
        await desk.ask(Apply(done.plan_id))
        assert (await desk.until(Said, lambda said: said.tone == "bad", since=since)).words

        since = len(desk.heard)
        await desk.ask(Unhedge(token_id))
        closing = (await desk.until(TradeOpened, since=since)).view
        assert closing.verdict is not None
        assert closing.verdict.headline.startswith(f"Close the hedge of #{token_id}: buy ")
        assert closing.next_phrase == "approve"
        await desk.ask(Approve())
        await desk.until(Said, lambda said: "approved for ten minutes" in said.words, since=since)
        await desk.ask(Apply())
        page = (await desk.until(ConfirmationAsked, since=since)).approval
        assert page.receipt is not None
        assert page.receipt.profit is not None
        rows = {line.part: line for line in page.receipt.lines}
        assert rows["result"].dollars
        assert rows["fees"].dollars == rows["pay"].dollars


async def test_a_run_is_shown_again_and_questions_are_pages(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(Trade("DOGE"))
        failed = await desk.until(TradeChanged, lambda told: bool(told.view.verdict))
        assert failed.view.verdict is not None
        assert failed.view.verdict.kind == "failed"
        await desk.desk.idle()
        since = len(desk.heard)
        await desk.ask(Show("trade"))
        shown = await desk.until(TradeOpened, since=since)
        assert shown.view.plan_id == failed.view.plan_id
        await desk.ask(Trade("status"))
        assert (await desk.until(PageReady)).title == "zuno trade status"
