"""Plans that another agent hands to the person: written where the desk of the same home looks."""

from msgspec import Struct, to_builtins

from chain.base.store import Store, read_as

_NAMESPACE = "handed over"


class HandedOver(Struct, frozen=True):
    plan_id: str
    by: str
    """As the agent calls itself: a stranger's word."""
    position: str
    at: float


def hand_over(store: Store, handed: HandedOver) -> None:
    store.put(_NAMESPACE, handed.plan_id, to_builtins(handed), now=handed.at)


def handed_over_since(store: Store, since: float) -> list[HandedOver]:
    """Oldest first; what cannot be read is none."""
    found = (read_as(HandedOver, value) for value in store.items(_NAMESPACE).values())
    return sorted((each for each in found if each and each.at > since), key=lambda each: each.at)
