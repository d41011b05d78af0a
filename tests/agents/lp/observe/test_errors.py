"""What a person hears when nothing can be observed, and what is read again unasked."""

from typing import Any

import pytest
from msgspec.structs import replace

from agents.bus.worker import StageFailedError
from agents.lp.observe import ChainUnreadableError, GasUnknownError, ObservationError
from agents.lp.observe.observer import chain_faults_told
from agents.numbers.rules import RiskProfile
from chain.base.store import StoreError
from chain.contracts.abi import AbiError
from chain.protocols.reference import v4_position
from tests.agents.lp.observe.conftest import DEVNET, Chain, scouting
from tests.chain_view import own_small_world
from tests.fakes.proxy import Proxy

OBSERVED = RiskProfile.BALANCED


async def test_a_chain_that_does_not_answer_is_a_sentence_and_a_next_step() -> None:
    url = "http://127.0.0.1:9/secret-key"
    async with scouting(url) as scout:
        with pytest.raises(ChainUnreadableError) as caught:
            await scout.observer.observe_position(v4_position(7), OBSERVED)
    told = str(caught.value)
    assert "127.0.0.1" in told
    assert told.endswith("zuno doctor")
    assert "secret-key" not in told
    assert "\n" not in told
    # So a handler need not know any of these errors for the person to read the sentence.
    assert isinstance(caught.value, StageFailedError)


async def test_another_chain_is_refused(chain: Chain) -> None:
    elsewhere = replace(DEVNET, chain_id=8453, title="Base")
    async with chain.opened(network=elsewhere) as scout:
        with pytest.raises(ChainUnreadableError, match="answered for chain 31337"):
            await scout.observer.observe_position(v4_position(chain.positions["healthy"]), OBSERVED)


async def test_op_networks_without_their_oracle_cannot_tell_what_a_move_costs(
    chain: Chain,
) -> None:
    rollup = replace(DEVNET, stack="op")
    async with chain.opened(network=rollup) as scout:
        with pytest.raises(GasUnknownError, match="What a move would cost is unknown"):
            await scout.observer.observe_position(v4_position(chain.positions["healthy"]), OBSERVED)


@pytest.mark.parametrize("fault", [AbiError("A word is missing."), StoreError("The disk is full.")])
def test_other_faults_of_reading_are_told_too(fault: Exception) -> None:
    with pytest.raises(ObservationError, match=str(fault)), chain_faults_told(DEVNET):
        raise fault


def test_a_mistake_of_ours_is_not_passed_off_as_the_chains() -> None:
    with pytest.raises(KeyError), chain_faults_told(DEVNET):
        raise KeyError("slot")


@pytest.mark.parametrize("method", ["eth_feeHistory", "eth_getLogs"])
async def test_a_block_replaced_in_the_middle_is_read_again_as_a_whole(method: str) -> None:
    left = [1]
    with own_small_world() as (world, chain):
        before, between = chain.head, []

        def replacing(call: dict[str, Any]) -> None:
            if call["method"] == method and left:
                left.pop()
                chain.reorg(1)
                between.append(chain.head)
                chain.mine(chain.head.timestamp + 77)

        with Proxy(chain.url, replacing) as proxy:
            async with scouting(proxy.url) as scout:
                token_id = world.positions["healthy"]
                context = await scout.observer.observe_position(v4_position(token_id), OBSERVED)
        assert not left
        # Gas is asked beside the rest: where it is asked last, all else is of the block before.
        # A look may fall between the block that was replaced and the next one: it is whole, too.
        blocks = [chain.head, *between, *([] if method == "eth_getLogs" else [before])]
        assert (context.block_hash, context.time) in [(one.hash, one.timestamp) for one in blocks]
