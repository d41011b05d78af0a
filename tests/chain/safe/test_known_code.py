"""Safe's contracts: the hashes that are shipped are those of npm's own artifacts, deployed here."""

import json
from collections.abc import Iterator

import pytest

from chain.contracts.abi import encode_call
from chain.contracts.addresses import keccak
from chain.contracts.networks import network_named
from chain.contracts.safe import CALL, SafeTransaction, safe_versions
from chain.devnet.anvil import running_anvil
from chain.devnet.json_rpc import NodeClient
from chain.devnet.world.safes import make_safe, place_safes, safe_addresses, send_as
from chain.rpc.client import RpcClient
from chain.safe.facts import SafeError, read_safe
from chain.safe.plans import SafePlan, plan_file, read_plan

OWNERS = ("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", "0x" + "11" * 20, "0x" + "22" * 20)


@pytest.fixture(scope="module")
def node() -> Iterator[NodeClient]:
    with running_anvil(("--chain-id", "31337")) as anvil, NodeClient(anvil.url) as client:
        for version in safe_versions():
            place_safes(client, version)
        yield client


def _hash(node: NodeClient, address: str) -> str:
    return "0x" + keccak(bytes.fromhex(node.ask_text("eth_getCode", address, "latest")[2:])).hex()


@pytest.mark.parametrize("version", safe_versions())
def test_shipped_hashes_are_of_the_published_code(node: NodeClient, version: str) -> None:
    known, places = safe_versions()[version], safe_addresses(version)
    safe = make_safe(node, OWNERS[0], OWNERS, 2, version=version)

    assert _hash(node, safe) == known.proxy
    assert _hash(node, places["Safe"]) in known.singletons
    assert _hash(node, places["MultiSendCallOnly"]) == known.multi_send_code
    assert _hash(node, places["CompatibilityFallbackHandler"]) in known.handlers


@pytest.mark.parametrize("version", safe_versions())
async def test_what_a_safe_is_and_who_may_act_for_it_is_read(
    node: NodeClient, version: str
) -> None:
    safe = make_safe(node, OWNERS[0], OWNERS, 2, version=version, salt=1)
    module = "0x" + "33" * 20
    node.ask("anvil_setBalance", safe, hex(10**18))
    send_as(node, safe, safe, encode_call("enableModule(address)", module))
    async with RpcClient(network_named("devnet"), (node.url,)) as client:
        facts = await read_safe(client, safe)
        with pytest.raises(SafeError, match="is no contract"):
            await read_safe(client, OWNERS[1])
        with pytest.raises(SafeError, match="does not answer as a Safe"):
            await read_safe(client, safe_addresses(version)["MultiSendCallOnly"])

    facts.refuse_unfit()
    assert (facts.version, facts.threshold, facts.nonce) == (version, 2, 0)
    assert set(facts.owners) == set(OWNERS)
    assert facts.modules == (module,)
    assert facts.guard is None
    assert facts.handler_is_known


async def test_another_code_and_an_old_version_are_refused(node: NodeClient) -> None:
    safe = make_safe(node, OWNERS[0], OWNERS, 2, version="1.4.1", salt=2)
    code = node.ask_text("eth_getCode", safe, "latest")
    node.ask("anvil_setCode", safe, code + "00")
    node.ask("evm_mine")
    async with RpcClient(network_named("devnet"), (node.url,)) as client:
        changed = await read_safe(client, safe)
    node.ask("anvil_setCode", safe, code)
    singleton = safe_addresses("1.3.0")["Safe"]
    old = node.ask_text("eth_getCode", singleton, "latest")
    aged = old.replace(b"1.3.0".hex(), b"1.1.1".hex())
    assert aged != old
    safe = make_safe(node, OWNERS[0], OWNERS, 2, version="1.3.0", salt=3)
    node.ask("anvil_setCode", singleton, aged)
    node.ask("evm_mine")
    async with RpcClient(network_named("devnet"), (node.url,)) as client:
        outdated = await read_safe(client, safe)
    node.ask("anvil_setCode", singleton, old)

    with pytest.raises(SafeError, match="not that of a known Safe"):
        changed.refuse_unfit()
    with pytest.raises(SafeError, match=r"Below 1\.3\.0"):
        outdated.refuse_unfit()


@pytest.mark.parametrize("field", ["safeTxGas", "baseGas", "gasPrice", "gasToken"])
def test_a_file_by_which_the_safe_pays_for_gas_is_refused(field: str) -> None:
    made = SafeTransaction(31337, OWNERS[1], OWNERS[2], 0, b"", CALL, 4)
    document = json.loads(plan_file(SafePlan(0, made, {})))
    assert read_plan(json.dumps(document).encode(), "it").transaction == made
    document["transaction"][field] = OWNERS[0] if field == "gasToken" else "1"

    with pytest.raises(SafeError, match=f"it sets {field}"):
        read_plan(json.dumps(document).encode(), "it")
