"""Every venue there is: a folder each, found by looking, named nowhere else."""

import importlib
import pkgutil
from functools import cache

from chain.exchange.orders.venue import VenueEntry


@cache
def venue_entries() -> dict[str, VenueEntry]:
    """By name, those without keys first."""
    found: list[VenueEntry] = []
    for folder in pkgutil.iter_modules(__path__):
        found += importlib.import_module(f"{__name__}.{folder.name}").ENTRIES
    found.sort(key=lambda entry: (entry.prompts is not None, entry.name))
    return {entry.name: entry for entry in found}
