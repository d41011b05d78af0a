"""Plans that another agent hands to the person: written where the desk of the same home looks."""

from msgspec import Struct, to_builtins

from chain.base.store import Store, read_as

_NAMESPACE = "handed over"
_TOLD_SECONDS = 86_400.0
"""For so long a plan waits for a desk to be opened."""


class HandedOver(Struct, frozen=True):
    plan_id: str
    by: str
    """As the agent calls itself: a stranger's word."""
    position: str
    at: float


def hand_over(store: Store, handed: HandedOver) -> None:
    store.put(_NAMESPACE, handed.plan_id, to_builtins(handed), now=handed.at)


def take_handed_over(store: Store, now: float) -> list[HandedOver]:
    """Oldest first, each told once; what is over a day old, or cannot be read, is told no more."""
    store.forget_before(_NAMESPACE, now - _TOLD_SECONDS)
    kept = store.items(_NAMESPACE)
    found = [read_as(HandedOver, value) for value in kept.values()]
    for key in kept:
        store.forget_key(_NAMESPACE, key)
    return sorted((each for each in found if each), key=lambda each: each.at)
