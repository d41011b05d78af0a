"""What every test rests on: a chain that is taken back is the one that was found."""

from chain.devnet.world.accounts import WIDE_PROVIDER
from tests import node_rpc
from tests.chain_view import own_small_world

SENT = {
    "from": WIDE_PROVIDER.address,
    "to": WIDE_PROVIDER.address,
    "maxFeePerGas": hex(10**12),
    "maxPriorityFeePerGas": hex(10**9),
}
TURNS = 60
"""Where a block is mined on what was just taken back, that shows within twenty."""


def test_what_is_being_mined_is_taken_back_with_the_rest() -> None:
    with own_small_world() as (_, chain):
        chain("anvil_impersonateAccount", WIDE_PROVIDER.address)
        found = chain.head
        for _ in range(TURNS):
            snapshot = chain("evm_snapshot")
            chain("evm_setAutomine", False)
            chain("eth_sendTransaction", SENT)
            # From here on the node mines what waits, whoever else asks for something.
            chain("evm_setAutomine", True)
            node_rpc.take_back(chain.url, snapshot)
            assert node_rpc.is_at_rest(chain.url)
            assert chain.head == found
        chain.mine()
        assert chain.head.number == found.number + 1
