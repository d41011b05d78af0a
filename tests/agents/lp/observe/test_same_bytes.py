"""The same chain gives the same bytes, remembered or read anew, and no token's name is in them."""

from agents.lp.facts import CreateContext, MarketContext
from agents.numbers.rules import RiskProfile
from chain.contracts.networks import network_named
from chain.protocols.reference import v4_position
from chain.tokens import token as listed
from tests.agents.lp.observe.conftest import Chain
from tests.agents.lp.observe.facts_bytes import all_facts, facts_bytes

DEVNET = network_named("devnet")
STRANGERS_POSITION = 25
"""In the pool of a token that calls itself USDC and is not."""
STATES = ("healthy", "near the edge", "stable", "native", "dynamic fee", "hooked", "emptied")


async def test_a_memory_from_earlier_blocks_changes_nothing(chain: Chain) -> None:
    token_ids = [chain.positions[state] for state in STATES]
    with chain.moves.undone():
        async with chain.opened() as old:
            before = await all_facts(old, token_ids)
            chain.moves.rpc("zuno_step", 1800)
            grown = await all_facts(old, token_ids)
        async with chain.opened() as new:
            fresh = await all_facts(new, token_ids)
    assert before != grown
    assert grown == fresh


async def test_a_memory_of_a_chain_that_was_cut_back_changes_nothing(chain: Chain) -> None:
    """As when the embedded chain is started anew under the same home."""
    token_ids = [chain.positions["healthy"]]
    async with chain.opened() as old:
        with chain.moves.undone():
            chain.moves.rpc("zuno_step", 1800)
            ahead = await all_facts(old, token_ids)
        back = await all_facts(old, token_ids)
    async with chain.opened() as new:
        fresh = await all_facts(new, token_ids)
    assert ahead != fresh
    assert back == fresh


async def test_facts_survive_the_wire_unchanged(chain: Chain) -> None:
    async with chain.opened() as scouting:
        context = await scouting.observer.observe_position(
            v4_position(chain.positions["native"]), RiskProfile.AGGRESSIVE
        )
    assert MarketContext.model_validate_json(facts_bytes(context)) == context
    assert context.profile is RiskProfile.AGGRESSIVE
    assert isinstance(context, MarketContext | CreateContext)


async def test_no_name_of_any_token_is_in_the_facts(chain: Chain) -> None:
    token_ids = [STRANGERS_POSITION, *chain.positions.values()]
    token_ids.remove(chain.positions["burned"])
    async with chain.opened() as scouting:
        facts = await all_facts(scouting, token_ids)
    for item in listed.listed_tokens(DEVNET).tokens:
        assert item.token.symbol.encode() not in facts
    assert b"FREE" not in facts
