"""Further embedded chains, named by chain ids that belong to no live network."""

from __future__ import annotations

import pytest

from chain.contracts.networks import UnknownNetworkError, embedded_chain_id, network_named
from chain.tokens import listed_tokens

OTHER = 31338


def test_a_further_embedded_chain_is_named_by_its_chain_id() -> None:
    first, further = network_named("devnet"), network_named(f"devnet-{OTHER}")
    assert (further.name, further.chain_id) == ("devnet-31338", OTHER)
    assert further.contracts == first.contracts
    assert listed_tokens(further) == listed_tokens(first)
    assert further.endpoints == ()
    assert network_named("devnet-31337") == first


@pytest.mark.parametrize("name", ["devnet-8453", "devnet-0", "devnet-x", "devnet-"])
def test_no_embedded_chain_takes_the_place_of_a_live_network(name: str) -> None:
    with pytest.raises(UnknownNetworkError):
        network_named(name)


@pytest.mark.parametrize("text", ["1", "8453", "0", "-5", "x", "9" * 20])
def test_a_chain_id_that_is_taken_or_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="chain id"):
        embedded_chain_id(text)
