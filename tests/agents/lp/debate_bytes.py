"""Debates on a chain, and the digests of each one."""

from collections.abc import Sequence

from agents.lp.facts import Capital, CreateGoal
from agents.lp.payloads import FlowCreateStart, FlowStart
from agents.lp.services import Eyes
from agents.numbers.rules import RiskProfile
from agents.numbers.shapes import ExposureBias
from chain.base.strict_json import digest
from chain.contracts.networks import NATIVE
from chain.protocols.reference import v4_position
from tests.agents.lp.debating import DEVNET, argue

ETHER = CreateGoal(
    capital=(Capital(token=NATIVE, amount=10**18),),
    pair=None,
    exposure=ExposureBias.LONG_TOKEN,
    fee=None,
)


async def debated(eyes: Eyes, start: FlowStart | FlowCreateStart) -> str:
    """The digests of a plan and of the record of its debate."""
    argued = await argue(start, eyes)
    return f"{digest(argued.plan_bytes)} {digest(argued.record)}"


async def all_debated(eyes: Eyes, token_ids: Sequence[int]) -> list[str]:
    """Every position under a profile, then a new position for ether."""
    assert DEVNET.default_address is not None
    profiles = list(RiskProfile)
    starts: list[FlowStart | FlowCreateStart] = [
        FlowStart(token_id=v4_position(one), profile=profiles[one % 3], max_rounds=2)
        for one in token_ids
    ]
    starts.append(
        FlowCreateStart(goal=ETHER, owner=DEVNET.default_address, profile=profiles[0], max_rounds=2)
    )
    return [await debated(eyes, start) for start in starts]
