"""Answers of the last block where no endpoint has a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from zuno_tui.app.last_block import old_block_words
from zuno_tui.catalog.command import Command
from zuno_tui.intents.intent import Intent

if TYPE_CHECKING:
    from chain.rpc.errors import StaleHead
    from zuno_tui.app.session import Session
    from zuno_tui.present.answer import CommandAnswer


async def answer_of(command: Command, session: Session, asked: Intent) -> CommandAnswer:
    """A read tells the age of its block where that is old; anything else wants a new one."""
    if command.answer is None:
        raise TypeError(f"{command.name} neither answers nor prepares anything.")
    if not command.tells_old_block:
        return await command.answer(session, asked)
    old: list[StaleHead] = []
    answer = await command.answer(replace(session, tell_stale=old.append), asked)
    by_endpoint = {error.endpoint: old_block_words(error) for error in old}
    return replace(answer, remarks=(*answer.remarks, *by_endpoint.values()))
