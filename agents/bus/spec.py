"""One kind of flow: its roles, its messages, who handles them and how it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from msgspec import Struct

from agents.bus.worker import Services

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agents.bus.envelope import Registry, Role
    from agents.bus.replay import Record
    from agents.bus.worker import Handler


class FlowSpec(Struct, Generic[Services], frozen=True):
    name: str
    """As its records and its plans name it."""
    package: str
    """Where its code and its prompts are: its records name a hash over them."""
    registry: Registry
    """Its roles and kinds, which of them end it and which may be lost."""
    handlers: Mapping[Role, Handler[Services]]
    first: Role
    """Who is given the start."""
    starts: tuple[str, ...]
    """The kinds it may begin with."""
    recorded_services: Callable[[Record], Services]
    """What its handlers work with when a record is run again: no model, no chain."""
    services_of: Callable[[Services, Role], Services] = lambda services, _: services
    """What of them one role works with, where not all have the same."""
