"""Shipped code hashes, each made again from the packages and the embedded chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chain.contracts.abi import encode
from chain.contracts.addresses import keccak
from chain.contracts.delegation import DELEGATION_MANAGER
from chain.contracts.networks import all_networks, network_named, shipped_code_hashes
from chain.devnet.world.deployment import CONTRACTS, contract_codes
from tests import node_rpc

if TYPE_CHECKING:
    from chain.contracts.networks import Address, Network
    from chain.devnet.launch import DevnetReady

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

    assert len(shipped) == 13
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
