"""Uniswap v3 on the embedded chain is what its own constructors make."""

import pytest

from chain.contracts import abi
from chain.contracts.addresses import keccak
from chain.devnet.anvil import bundled_lock
from chain.devnet.world.accounts import DEPLOYER
from chain.devnet.world.v3_life import (
    FEE_TIERS,
    constructor_arguments,
    constructor_storage,
    place_v3,
    v3_addresses,
    v3_codes,
)
from chain.protocols.v3.pool_key import POOL_CODE, v3_pool_address
from tests.chain_view import bare_chain

_SLOTS = range(20)


@pytest.mark.pure
def test_a_pool_stands_where_it_does_on_ethereum() -> None:
    usdc, weth = (
        "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",
        "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2",
    )
    factory = v3_addresses()["UniswapV3Factory"]
    pool = v3_pool_address(factory, usdc, weth, 500)
    assert pool == "0x88e6a0c2ddd26feeb64f039a2c41296fcb3f5640"


def test_what_is_stored_is_what_the_constructors_store() -> None:
    codes, arguments, storage = v3_codes(), constructor_arguments(), constructor_storage()
    with bare_chain() as chain:
        for name, creation in codes.items():
            parties = arguments[name]
            data = creation + abi.encode(("address",) * len(parties), parties)
            deployed = chain.apply(DEPLOYER.address, None, data).created
            assert deployed is not None
            voted = {
                slot: value
                for slot, value in storage[name].items()
                if name == "UniswapV3Factory" and value == FEE_TIERS[100]
            }
            expected = {slot: value for slot, value in storage[name].items() if slot not in voted}
            found = {
                slot: value
                for slot in {*_SLOTS, *expected}
                if (value := chain.storage(deployed, slot))
            }
            assert found == expected, name


def test_what_is_placed_answers_as_what_is_deployed() -> None:
    codes, addresses = v3_codes(), v3_addresses()
    with bare_chain() as chain:
        place_v3(chain.node, codes)
        for name, address in addresses.items():
            assert len(chain("eth_getCode", address, "latest")) > 10_000, name
        factory = addresses["UniswapV3Factory"]
        for fee, spacing in FEE_TIERS.items():
            data = abi.encode_call("feeAmountTickSpacing(uint24)", fee)
            assert int.from_bytes(chain.call(factory, data).output, "big") == spacing
        manager = addresses["NonfungiblePositionManager"]
        told = chain.call(manager, abi.encode_call("factory()")).output
        assert int.from_bytes(told, "big") == int(factory, 16)
        symbol = chain.call(manager, abi.encode_call("symbol()")).output
        assert abi.decode(("string",), symbol) == (b"UNI-V3-POS",)


@pytest.mark.pure
def test_the_packages_of_v3_decide_no_world() -> None:
    lock = bundled_lock()
    assert {one.name for one in lock.v3} == {"@uniswap/v3-core", "@uniswap/v3-periphery"}
    assert not {one.name for one in lock.v3} & {one.name for one in lock.contracts}


def test_pools_are_made_by_the_code_their_addresses_follow_from() -> None:
    factory = v3_codes()["UniswapV3Factory"]
    # The factory carries the code it makes pools of; somewhere in it stands what hashes so.
    starts = [
        place
        for place in range(len(factory))
        if factory.startswith(bytes.fromhex("6101606040"), place)
    ]
    ends = range(22_000, 23_500)
    assert any(
        keccak(factory[start : start + size]) == POOL_CODE for start in starts for size in ends
    )
