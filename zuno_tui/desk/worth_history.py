"""What the positions were worth, an hour each for a week."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, to_builtins

from chain.base.store import Store, read_as
from chain.base.units import HOUR
from zuno_tui.present.glance import WorthSample  # noqa: TC001 - read back by its type

_NAMESPACE = "desk-worth"
_MOST = 7 * 24


class _Kept(Struct, frozen=True):
    samples: tuple[WorthSample, ...]


class WorthHistory:
    """One sample an hour; the newest is rewritten until its hour is over."""

    def __init__(self, store: Store, key: str) -> None:
        self._store = store
        self._key = key
        kept = read_as(_Kept, store.get(_NAMESPACE, key))
        self._samples = () if kept is None else kept.samples

    @property
    def samples(self) -> tuple[WorthSample, ...]:
        return self._samples

    def after(self, earlier: Sequence[WorthSample]) -> tuple[WorthSample, ...]:
        """What was seen, and before that what others tell of the time nobody watched."""
        begin = self._samples[0].time if self._samples else None
        before = (one for one in earlier if begin is None or one.time // HOUR < begin // HOUR)
        return (*before, *self._samples)[-_MOST:]

    def add(self, sample: WorthSample, *, now: float) -> None:
        before = self._samples
        # A chain that began anew has no past of its own yet.
        before = tuple(one for one in before if one.time <= sample.time)
        same_hour = bool(before) and before[-1].time // HOUR == sample.time // HOUR
        self._samples = (*(before[:-1] if same_hour else before), sample)[-_MOST:]
        if not same_hour:
            kept = _Kept(self._samples)
            self._store.put(_NAMESPACE, self._key, to_builtins(kept), now=now)
