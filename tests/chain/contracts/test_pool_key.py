"""Networks, pool keys and the code that is known."""

import eth_abi.abi
import pytest
from eth_abi.packed import encode_packed
from hypothesis import given
from hypothesis import strategies as st

from chain.contracts import storage
from chain.contracts.abi import encode
from chain.contracts.addresses import keccak
from chain.contracts.delegation import DELEGATION_MANAGER
from chain.contracts.networks import (
    NATIVE,
    Address,
    Network,
    UnknownNetworkError,
    all_networks,
    embedded_chain_id,
    network_named,
    shipped_code_hashes,
)
from chain.contracts.pool_key import DYNAMIC_FEE, PoolKey, position_key
from chain.devnet.launch import DevnetReady
from chain.devnet.world.deployment import CONTRACTS, contract_codes
from chain.tokens import listed_tokens
from tests import node_rpc

USDC = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"

addresses = st.binary(min_size=20, max_size=20).map(lambda raw: "0x" + raw.hex())
ticks = st.integers(-887272, 887272)
words = st.integers(0, 2**256 - 1)


def test_the_id_of_a_pool_everyone_knows() -> None:
    key = PoolKey(NATIVE, USDC, 500, 10, NATIVE)
    # ETH/USDC 0.05 % on Ethereum mainnet.
    assert key.pool_id == "0x21c67e77068de97969ba93d4aab21826d33ca12bb9f565d8496e8fda8a82ca27"
    assert not key.has_dynamic_fee
    assert PoolKey(NATIVE, USDC, DYNAMIC_FEE, 10, USDC).has_dynamic_fee


@given(addresses, addresses, st.integers(0, 2**24 - 1), st.integers(1, 32767), addresses)
def test_pool_id(currency0: str, currency1: str, fee: int, spacing: int, hooks: str) -> None:
    types = ["address", "address", "uint24", "int24", "address"]
    expected = keccak(eth_abi.abi.encode(types, [currency0, currency1, fee, spacing, hooks]))
    assert PoolKey(currency0, currency1, fee, spacing, hooks).pool_id == "0x" + expected.hex()


@given(addresses, ticks, ticks, words)
def test_position_key(owner: str, lower: int, upper: int, token_id: int) -> None:
    packed = encode_packed(
        ["address", "int24", "int24", "uint256"], [owner, lower, upper, token_id]
    )
    assert position_key(owner, lower, upper, token_id) == keccak(packed)


@given(words, ticks, words)
def test_slots_follow_solidity(pool: int, tick: int, key: int) -> None:
    pool_id = f"0x{pool:064x}"
    base = int.from_bytes(keccak(eth_abi.abi.encode(["uint256", "uint256"], [pool, 6])), "big")
    slots = storage.pool_slots(pool_id)
    assert [slots.slot0, slots.fee_growth_global0, slots.fee_growth_global1, slots.liquidity] == [
        (base + word) % 2**256 for word in range(4)
    ]
    at_tick = keccak(eth_abi.abi.encode(["int256", "uint256"], [tick, (base + 4) % 2**256]))
    assert storage.tick_slots(pool_id, tick).liquidity == int.from_bytes(at_tick, "big")
    position = keccak(eth_abi.abi.encode(["uint256", "uint256"], [key, (base + 6) % 2**256]))
    expected = int.from_bytes(position, "big")
    found = storage.position_slots(pool_id, key.to_bytes(32, "big"))
    assert found == storage.PositionSlots(
        expected, (expected + 1) % 2**256, (expected + 2) % 2**256
    )


@given(st.integers(0, 2**160 - 1), ticks, st.integers(0, 2**24 - 1), st.integers(0, 2**24 - 1))
def test_slot0(sqrt_price: int, tick: int, protocol_fee: int, lp_fee: int) -> None:
    word = sqrt_price | (tick % 2**24) << 160 | protocol_fee << 184 | lp_fee << 208
    assert storage.decode_slot0(word) == storage.Slot0(sqrt_price, tick, protocol_fee, lp_fee)


@given(ticks, ticks, st.booleans(), st.binary(min_size=25, max_size=25))
def test_position_info(lower: int, upper: int, subscribed: bool, prefix: bytes) -> None:
    word = int.from_bytes(prefix, "big") << 56 | (upper % 2**24) << 32 | (lower % 2**24) << 8
    info = storage.decode_position_info(word | subscribed)
    assert info == storage.PositionInfo(lower, upper, subscribed, prefix)


@given(st.integers(0, 2**128 - 1), st.integers(-(2**127), 2**127 - 1))
def test_tick_liquidity(gross: int, net: int) -> None:
    word = gross | (net % 2**128) << 128
    assert storage.decode_tick_liquidity(word) == storage.TickLiquidity(gross, net)


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


PUSH32 = b"\x7f"
TEST_CHAIN_ID = 31337
"""What Uniswap's package has its copy of Permit2 compiled for."""


def _code(devnet: DevnetReady, address: str) -> bytes:
    answer = node_rpc.ask(devnet.url, "eth_getCode", address, "latest")
    return bytes.fromhex(answer[2:])


def _hash(code: bytes) -> str:
    return "0x" + keccak(code).hex()


def _permit2_on(network: Network) -> bytes:
    kind = keccak(b"EIP712Domain(string name,uint256 chainId,address verifyingContract)")
    domain = (kind, keccak(b"Permit2"), network.chain_id, network.contracts.permit2)
    separator = keccak(encode(("bytes32", "bytes32", "uint256", "address"), domain))
    code = contract_codes()["Permit2"]
    before, chain_id, after = code.partition(PUSH32 + TEST_CHAIN_ID.to_bytes(32, "big"))
    assert chain_id
    # The separator that goes with the chain id is the next word that is pushed.
    gap, _, rest = after.partition(PUSH32)
    return b"".join(
        (before, PUSH32, network.chain_id.to_bytes(32, "big"), gap, PUSH32, separator, rest[32:])
    )


@pytest.mark.parametrize("network", all_networks(), ids=lambda network: network.name)
def test_permit2_is_its_package_with_the_chain_put_in(network: Network) -> None:
    known = shipped_code_hashes(network)[network.contracts.permit2]
    # The embedded chain has the package's copy as it is.
    embedded = network.name == "devnet"
    assert known == _hash(contract_codes()["Permit2"] if embedded else _permit2_on(network))


def test_the_pool_manager_is_its_package_with_its_own_address_put_in(devnet: DevnetReady) -> None:
    code, own = _code(devnet, CONTRACTS.pool_manager), bytes.fromhex(CONTRACTS.pool_manager[2:])
    assert code.count(own) == 1
    compared = 0
    for network in all_networks():
        address = network.contracts.pool_manager
        known = shipped_code_hashes(network).get(address)
        if known is not None:
            assert known == _hash(code.replace(own, bytes.fromhex(address[2:])))
            compared += 1
    assert compared == 8


def test_the_embedded_chain_has_the_code_that_is_shipped_for_it(devnet: DevnetReady) -> None:
    shipped = shipped_code_hashes(network_named("devnet"))

    assert len(shipped) == 14
    assert shipped == {address: _hash(_code(devnet, address)) for address in shipped}


@pytest.mark.parametrize(
    ("name", "address"),
    [
        (b"EIP7702StatelessDeleGator", str(CONTRACTS.delegate)),
        (b"DelegationManager", DELEGATION_MANAGER),
    ],
)
def test_the_delegate_and_its_manager_are_their_package_with_the_chain_put_in(
    devnet: DevnetReady, name: bytes, address: Address
) -> None:
    kind = keccak(
        b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    )

    def domain(network: Network) -> bytes:
        values = (kind, keccak(name), keccak(b"1"), network.chain_id, address)
        return keccak(encode(("bytes32", "bytes32", "bytes32", "uint256", "address"), values))

    embedded = network_named("devnet")
    code = _code(devnet, address)
    own = (embedded.chain_id.to_bytes(32, "big"), domain(embedded))
    assert [code.count(word) for word in own] == [1, 1]
    for network in all_networks():
        there = code.replace(own[0], network.chain_id.to_bytes(32, "big"))
        there = there.replace(own[1], domain(network))
        assert shipped_code_hashes(network)[address] == _hash(there)
