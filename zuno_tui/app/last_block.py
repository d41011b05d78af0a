"""Answers of the last block where no endpoint has a new one: with its age, and never signed on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chain.rpc.errors import StaleHead


def old_block_words(error: StaleHead) -> str:
    return f"{error.sentence} These are the figures of that block. Nothing is signed on them."
