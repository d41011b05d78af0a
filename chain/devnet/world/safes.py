"""Safe's own contracts on an embedded chain, and Safes made by their factories."""

import json
import os
from collections.abc import Mapping, Sequence

from chain.base.units import GWEI
from chain.contracts import abi
from chain.contracts.networks import EMBEDDED, NATIVE, Address, network_named
from chain.contracts.safe import safe_versions
from chain.devnet.anvil import bundled_lock, ensure_package
from chain.devnet.json_rpc import NodeClient
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.deployment import CONTRACTS, USDC, WETH
from chain.devnet.world.writing import SUGGESTED_TIP, NodeState

_SETUP = "setup(address[],uint256,address,bytes,address,address,uint256,address)"
_CREATE = "createProxyWithNonce(address,bytes,uint256)"
_TRANSFER_FROM = "transferFrom(address,address,uint256)"
_PLACES: Mapping[str, Mapping[str, Address]] = {
    "1.3.0": {
        "Safe": "0xd9db270c1b5e3bd161e8c8503c55ceabee709552",
        "SafeProxyFactory": "0xa6b71e26c5e0845f74c812102ca7114b6a896ab2",
        "CompatibilityFallbackHandler": "0xf48f2b2d2a534e402487b3ee7c18c33aec0fe5e4",
    },
    "1.4.1": {
        "Safe": "0x41675c099f32341bf84bfc5382af534df5c7461a",
        "SafeProxyFactory": "0x4e1dcf7ad4e460cfd30791ccc4f9c8a4f820ec67",
        "CompatibilityFallbackHandler": "0xfd0732dc9e303f09fcef3a7388ad10a83459ec99",
    },
    "1.5.0": {
        "Safe": "0xff51a5898e281db6dfc7855790607438df2ca44b",
        "SafeProxyFactory": "0x14f2982d601c9458f93bd70b218933a6f8165e7b",
        "CompatibilityFallbackHandler": "0x3efcbb83a4a7afcb4f68d501e2c2203a38be77f4",
    },
}
_THRESHOLD_SLOT = "0x4"
_GAS, _MOST_FEE = 1_000_000, 100 * GWEI
_ONE = f"0x{1:064x}"


def safe_addresses(version: str) -> dict[str, Address]:
    """Where each contract stands, here as on every network."""
    return {**_PLACES[version], "MultiSendCallOnly": safe_versions()[version].multi_send[0]}


def place_safes(
    node: NodeClient, version: str, environment: Mapping[str, str] = os.environ
) -> None:
    """Put what the constructors make at the canonical addresses.

    Run as if it were the code there, a constructor returns what it would leave there.
    """
    addresses = safe_addresses(version)
    (package,) = (each for each in bundled_lock().safe if each.version == version)
    folder = ensure_package(package, environment)
    for file in package.files:
        content = json.loads((folder / file.file_name).read_bytes())
        address = addresses[file.name.rstrip("0123456789")]
        creation = {address: {"code": str(content["bytecode"])}}
        made = node.ask("eth_call", {"to": address}, "latest", creation)
        node.ask("anvil_setCode", address, made)
    # As its constructor leaves it: nobody sets up the singleton itself.
    node.ask("anvil_setStorageAt", addresses["Safe"], _THRESHOLD_SLOT, _ONE)


def make_safe(
    node: NodeClient,
    maker: Address,
    owners: Sequence[Address],
    threshold: int,
    *,
    version: str,
    salt: int = 0,
) -> Address:
    """Made by the factory, in a transaction of an account whose node needs no signature."""
    places = safe_addresses(version)
    handler = places["CompatibilityFallbackHandler"]
    setup = abi.encode_call(_SETUP, owners, threshold, NATIVE, b"", handler, NATIVE, 0, NATIVE)
    factory = places["SafeProxyFactory"]
    data = abi.encode_call(_CREATE, places["Safe"], setup, salt)
    call = {"from": maker, "to": factory, "data": "0x" + data.hex()}
    safe = "0x" + node.ask_text("eth_call", call, "latest")[-40:]
    send_as(node, maker, factory, data)
    return safe


STATES = ("healthy", "native", "below its range", "transferred in")
"""Of the demo wallet's positions those that a Safe is given, with half of its v3 ones."""


def found_safe(
    node: NodeClient,
    positions: Mapping[str, int],
    owners: Sequence[Address],
    threshold: int,
    *,
    version: str = "1.4.1",
) -> Address:
    """A Safe that holds positions and coins which were the demo wallet's."""
    place_safes(node, version)
    wallet = DEMO_WALLET.address
    safe = make_safe(node, wallet, owners, threshold, version=version)
    v3 = network_named(EMBEDDED).v3
    given = [(CONTRACTS.position_manager, positions[state]) for state in STATES]
    if v3 is not None:
        manager, own = v3.position_manager, (abi.encode_call("balanceOf(address)", wallet))
        state = NodeState(node)
        for place in range(int.from_bytes(state.call(manager, own), "big") // 2):
            ask = abi.encode_call("tokenOfOwnerByIndex(address,uint256)", wallet, place)
            given.append((manager, int.from_bytes(state.call(manager, ask), "big")))
    calls = [
        (manager, abi.encode_call(_TRANSFER_FROM, wallet, safe, token_id))
        for manager, token_id in given
    ]
    calls += [
        (token.address, abi.encode_call("transfer(address,uint256)", safe, amount))
        for token, amount in ((WETH, 10**18), (USDC, 3_000 * 10**6))
    ]
    for to, data in calls:
        send_as(node, wallet, to, data)
    return safe


def send_as(node: NodeClient, sender: Address, to: Address, data: bytes) -> None:
    """As an account whose signature the node does without; in a block when this returns."""
    node.ask("anvil_impersonateAccount", sender)
    try:
        node.ask(
            "eth_sendTransaction",
            {
                "from": sender,
                "to": to,
                "data": "0x" + data.hex(),
                "gas": hex(_GAS),
                "maxFeePerGas": hex(_MOST_FEE),
                "maxPriorityFeePerGas": hex(SUGGESTED_TIP),
            },
        )
        # A node that mines at once answers before it has.
        node.ask("evm_mine")
    finally:
        node.ask("anvil_stopImpersonatingAccount", sender)
