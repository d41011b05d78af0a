"""Keeps a model's thinking apart from its answer, where a server writes both as one text."""

from __future__ import annotations

import re

_TAG = re.compile(r"<(/?)(think|thinking|thought|reasoning)>", re.IGNORECASE)
_LONGEST_TAG = len("</reasoning>")


class ThinkingFilter:
    """Feed it a text as it comes, cut anywhere; it gives what is not between thinking tags."""

    def __init__(self) -> None:
        self._held = ""
        self._inside = False
        self._hidden: list[str] = []
        self.thinks = False

    @property
    def inside(self) -> bool:
        """Whether what came last was thinking."""
        return self._inside

    def feed(self, text: str) -> str:
        text = self._held + text
        said: list[str] = []
        at = 0
        for tag in _TAG.finditer(text):
            # The end of what was never begun is left in: what stands before it is thinking, too.
            stray = tag[1] and not self._inside
            self._take(text[at : tag.end() if stray else tag.start()], said)
            self._inside = not tag[1]
            self.thinks = True
            at = tag.end()
        # What may be the beginning of a tag waits for the rest of it.
        opened = text.rfind("<", max(at, len(text) - _LONGEST_TAG + 1))
        end = len(text) if opened < 0 else opened
        self._held = text[end:]
        self._take(text[at:end], said)
        return "".join(said)

    def close(self) -> str:
        """What is left; of thinking that never ended all of it, since the answer may be in it."""
        rest, self._held = self._held, ""
        if self._inside:
            return "".join(self._hidden) + rest
        return rest

    def _take(self, text: str, said: list[str]) -> None:
        (self._hidden if self._inside else said).append(text)


def after_thinking(text: str) -> str:
    """Some servers write only the tag that ends the thinking: the answer follows the last one."""
    ends = [tag.end() for tag in _TAG.finditer(text) if tag[1]]
    return text[ends[-1] :] if ends else text
