"""A field for an endpoint: what may be a key in a URL is drawn as dots while it is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.highlighter import Highlighter

from chain.base.redaction import masked_urls

if TYPE_CHECKING:
    from rich.text import Text


class UrlMask(Highlighter):
    """Changes what is drawn of the letters, and not how many they are."""

    def highlight(self, text: Text) -> None:
        text.plain = masked_urls(text.plain)
