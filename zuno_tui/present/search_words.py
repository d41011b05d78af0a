"""How far a search for positions has come, how long it may take, and what would make it faster."""

from chain.base.units import age_text
from chain.protocols.v4.memory import SearchProgress
from zuno_tui.present.charts import bar
from zuno_tui.present.words import percent

_BAR_CELLS = 12
_LONG_SECONDS = 60
_FEW_BLOCKS = 10_000


def search_words(progress: SearchProgress) -> str:
    """One line; the time is the most it can take, because it ends when everything is found."""
    parts = [
        f"Looking for positions: {progress.found} of {progress.wanted} found",
        f"{bar(progress.fraction, _BAR_CELLS)} {percent(progress.fraction)}",
    ]
    left = progress.seconds_left
    if left is not None:
        parts.append(f"at most {age_text(max(1, round(left)))} left")
    if left is not None and left > _LONG_SECONDS:
        parts.append(f"faster with {_faster(progress)}")
    return " · ".join(parts)


def _faster(progress: SearchProgress) -> str:
    if progress.limited:
        return "a second endpoint (--rpc URL,URL), which shares the work"
    if progress.by == "ids" or progress.blocks_at_once < _FEW_BLOCKS:
        return "an endpoint that gives 10,000 blocks at once, or their ids: zuno watch-ids ID…"
    return "their ids: zuno watch-ids ID…"
