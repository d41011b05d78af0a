"""What only a model can weigh: headlines about the tokens, and the source of the pool's hook.

Both are strangers' words from places that the person has set. What cannot be read is left out.
"""

import re
from collections.abc import Iterable, Iterator

from agents.lp.payloads import FlowCreateStart, FlowStart
from chain.base.clean_text import clean_text
from chain.base.http import HttpClient, HttpError, HttpLimits
from chain.base.strict_json import InvalidJsonError, loads
from chain.contracts.networks import NATIVE
from chain.positions.overview import Sources
from chain.tokens.token import Token
from zuno_tui.app.feature import features
from zuno_tui.app.range import pool_of_position
from zuno_tui.app.session import Session

_MOST_HEADLINES = 5
_MOST_PARTS = 6
_PART = 380
_LIMITS = HttpLimits(connect_seconds=3.0, answer_seconds=8.0, most_bytes=2_000_000)
_OK = 200
_ETHER, _BITCOIN = ("ethereum", "ether", "eth"), ("bitcoin", "btc")
_ALSO = {"eth": _ETHER, "weth": _ETHER, "wbtc": _BITCOIN, "cbbtc": _BITCOIN}
"""What people call a token beside its symbol."""
_CALLBACK = re.compile(r"\bfunction\s+_?(?:before|after)[A-Z]\w*\s*\(")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


async def with_outside_words(
    session: Session, sources: Sources, start: FlowStart | FlowCreateStart
) -> FlowStart | FlowCreateStart:
    """The start of a debate about a position with what strangers wrote of its tokens and hook."""
    template = session.settings.debate.hook_sources
    readers = [feature.headlines for feature in features() if feature.headlines is not None]
    if not isinstance(start, FlowStart):
        return start
    written = [title for read in readers for title in await read(session)]
    if not written and template is None:
        return start
    snapshot, tokens = await pool_of_position(sources, start.token_id)
    hook = snapshot.pool.key.hooks
    code: tuple[str, ...] = ()
    if template is not None and hook != NATIVE:
        code = await read_hook_code(template, sources.network.chain_id, hook)
    told = tuple(about(written, names_of(tokens)))[:_MOST_HEADLINES]
    memory = start.memory.model_copy(update={"headlines": told, "hook_code": code})
    return start.model_copy(update={"memory": memory})


def names_of(tokens: Iterable[Token]) -> frozenset[str]:
    """What headlines call them: listed tokens alone, for anybody may take a name."""
    symbols = [token.symbol.lower() for token in tokens if token.verified]
    return frozenset(name for symbol in symbols for name in (symbol, *_ALSO.get(symbol, ())))


def about(titles: Iterable[str], names: frozenset[str]) -> Iterator[str]:
    for title in titles:
        if names.intersection(re.findall(r"[a-z0-9]+", title.lower())):
            yield title


async def read_hook_code(template: str, chain_id: int, hook: str) -> tuple[str, ...]:
    """Its callbacks, bounded; nothing where the place has none, or does not answer."""
    url = template.replace("{chain}", str(chain_id)).replace("{address}", hook)
    http = HttpClient(url)
    try:
        answer = await http.get(url, {"accept": "application/json, text/plain"}, _LIMITS)
    except HttpError:
        return ()
    finally:
        await http.close()
    return callbacks_of(source_of(answer.body)) if answer.status == _OK else ()


def source_of(body: bytes) -> str:
    """Plain text, or Sourcify's JSON of files by name, each with its content."""
    try:
        value = loads(body)
    except InvalidJsonError:
        return body.decode("utf-8", "replace")
    files = value.get("sources") if isinstance(value, dict) else None
    if not isinstance(files, dict):
        return ""
    contents = (file.get("content") for file in files.values() if isinstance(file, dict))
    return "\n".join(content for content in contents if isinstance(content, str))


def callbacks_of(source: str) -> tuple[str, ...]:
    """What the hook does at each change, without comments, each cut to a few lines."""
    code = _COMMENT.sub(" ", source)
    starts = [found.start() for found in _CALLBACK.finditer(code)]
    found = [code[begin : begin + 4 * _PART] for begin in starts]
    # A declaration ends before it has a body, and says nothing.
    bodies = [text for text in found if "{" in text.partition(";")[0]]
    return tuple(clean_text(" ".join(text.split()), limit=_PART) for text in bodies[:_MOST_PARTS])
