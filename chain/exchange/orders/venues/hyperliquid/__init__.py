"""Hyperliquid's perpetuals: orders signed by an agent, whose key cannot withdraw."""

import re

from chain.exchange.orders.venue import Venue, VenueEntry, VenueFees, VenueKeys, VenueOpening
from chain.exchange.public.market import VenueAbilities

ABILITIES = VenueAbilities(groups=True, streams=True)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_KEY = re.compile(r"(0x)?[0-9a-fA-F]{64}")


def _open(opening: VenueOpening) -> Venue:
    from chain.exchange.orders.venues.hyperliquid.venue import HyperliquidVenue

    return HyperliquidVenue("hyperliquid", opening.keys)


def _check(keys: VenueKeys) -> str | None:
    if not _ADDRESS.fullmatch(keys.key):
        return "The account is an address: 0x and 40 digits."
    if not _KEY.fullmatch(keys.secret):
        return "The agent's private key has 64 hexadecimal digits."
    return None


def _agent(keys: VenueKeys) -> str:
    from chain.exchange.orders.ccxt_client import address_of

    return address_of(keys.secret)


ENTRIES = (
    VenueEntry(
        name="hyperliquid",
        title="Hyperliquid",
        what="your account at Hyperliquid, with real money",
        abilities=ABILITIES,
        open=_open,
        fees=VenueFees(maker=0.00015, taker=0.00045),
        prompts=("the address of the account or sub-account", "the agent's private key"),
        keyring="venue:hyperliquid:live",
        check_keys=_check,
        identity=_agent,
        advice="An agent (API wallet) cannot withdraw. A sub-account of its own keeps hedges apart "
        "from other trades.",
    ),
)
