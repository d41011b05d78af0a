"""All that is observed of a chain, as canonical bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.lp.facts import Capital, CreateGoal
from agents.numbers.rules import RiskProfile
from agents.numbers.shapes import ExposureBias
from chain.base.strict_json import canonical
from chain.contracts.networks import NATIVE
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.deployment import FAKE_USDC
from chain.protocols.reference import v4_position

if TYPE_CHECKING:
    from agents.lp.facts import CreateContext, MarketContext
    from tests.agents.lp.observe.conftest import Scouting

ETHER_GOAL = CreateGoal(
    capital=(Capital(token=NATIVE, amount=10**18),),
    pair=None,
    exposure=ExposureBias.LONG_TOKEN,
    fee=None,
)
STRANGE_GOAL = ETHER_GOAL.model_copy(
    update={"capital": (Capital(token=FAKE_USDC.address, amount=10**6),)}
)


def facts_bytes(context: MarketContext | CreateContext) -> bytes:
    return canonical(context.model_dump(mode="json", by_alias=True))


async def all_facts(scout: Scouting, token_ids: list[int]) -> bytes:
    """Positions, then the surveys for ether and for a stranger's token."""
    profile = RiskProfile.BALANCED
    found = [
        facts_bytes(await scout.observer.observe_position(v4_position(one), profile))
        for one in token_ids
    ]
    for goal in (ETHER_GOAL, STRANGE_GOAL):
        found.append(facts_bytes(await scout.observer.survey(goal, DEMO_WALLET.address, profile)))
    return b"\n".join(found)
