"""Whose code is called: as shipped, as first met, or not as it is known to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.addresses import keccak
from chain.contracts.delegation import DELEGATION_MANAGER, NONCES
from chain.contracts.networks import NATIVE, network_named, shipped_code_hashes
from chain.positions.overview import Sources
from tests.fakes.told_reader import ToldReader
from zuno_tui.gate.contract_code import (
    CodeHashes,
    called_contracts,
    forget_code,
    pinned_code,
    read_code_hashes,
    refuse_other_protocol,
    trust_words,
)
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

if TYPE_CHECKING:
    from chain.rpc.client import RpcClient

BASE = network_named("base")
OURS = BASE.contracts
PROTOCOL = (OURS.pool_manager, OURS.position_manager, OURS.permit2, str(OURS.universal_router))
ONE, TWO, THREE = ("0x" + digit * 40 for digit in "123")
NONE = frozenset[str]()


def test_everything_that_is_called_or_led_to_is_looked_at_once() -> None:
    assert called_contracts(BASE, (ONE, NATIVE, TWO, ONE)) == (*PROTOCOL, ONE, TWO)
    lent = called_contracts(BASE, (ONE,), lent=True)
    assert lent == (*PROTOCOL, ONE, OURS.delegate, DELEGATION_MANAGER, NONCES)
    bare = replace(BASE, contracts=replace(OURS, delegate=None, universal_router=None))
    assert called_contracts(bare, (ONE,), lent=True) == (*PROTOCOL[:3], ONE)


@pytest.mark.parametrize("address", PROTOCOL)
def test_uniswaps_own_code_is_what_it_is_known_to_be(address: str) -> None:
    known = dict.fromkeys((*PROTOCOL, ONE), "0xaa")
    refuse_other_protocol(BASE, CodeHashes(known, known, NONE, NONE))
    # A token's code is held against what was met by the policy, not here.
    refuse_other_protocol(BASE, CodeHashes({**known, ONE: "0xbb"}, known, NONE, NONE))
    with pytest.raises(GateRefusedError) as refused:
        refuse_other_protocol(BASE, CodeHashes({**known, address: "0xbb"}, known, NONE, NONE))
    assert refused.value.code is RefusalCode.CONTRACT_CODE


def test_on_what_grounds_code_is_trusted_is_said() -> None:
    now = {OURS.permit2: "0xaa", ONE: "0xbb", TWO: "0xcc", THREE: "0xdd"}
    codes = CodeHashes(
        now, {**now, THREE: "0xee"}, frozenset({OURS.permit2}), frozenset({TWO, THREE})
    )

    assert trust_words(BASE, codes)[:3] == (
        "Code as shipped with zuno: Permit2.",
        "Code as first seen from this home: 0x1111…1111.",
        "Code seen for the first time, and trusted from now on: 0x2222…2222.",
    )
    assert len(trust_words(BASE, codes)) == 4
    assert f"zuno doctor --forget {THREE}" in trust_words(BASE, codes)[3]
    lent = {str(OURS.delegate): "0xaa", DELEGATION_MANAGER: "0xbb", NONCES: "0xcc"}
    assert trust_words(BASE, CodeHashes(lent, lent, frozenset(lent), NONE)) == (
        "Code as shipped with zuno: the batch executor, DelegationManager, its nonces.",
    )
    bare = replace(BASE, contracts=replace(OURS, delegate=None))
    assert (
        "DelegationManager"
        not in trust_words(bare, CodeHashes(lent, lent, frozenset(lent), NONE))[0]
    )


async def test_code_is_held_against_what_was_shipped_then_against_what_was_met() -> None:
    one, shipped = OURS.permit2, shipped_code_hashes(BASE)
    code = {one: b"\1", TWO: b"\2", THREE: b"\3", NATIVE: b""}
    hashes = {each: "0x" + keccak(value).hex() for each, value in code.items()}
    client = ToldReader(lambda _, params: code[str(params[0])])
    own, pins = Store.in_memory(), Store.in_memory()
    sources = Sources(cast("RpcClient", client), BASE, own, None, lambda: 7.0)
    pins.put_many("contract-code-8453", {one: "0xpinned", TWO: "0xpinned"}, now=0)

    found = await read_code_hashes(
        sources, (one, TWO, THREE, NATIVE, one), "0x" + "b1" * 32, pins=pins
    )

    assert found.now == {each: hashes[each] for each in (one, TWO, THREE)}
    assert found.pinned == {one: shipped[one], TWO: "0xpinned", THREE: hashes[THREE]}
    assert (found.shipped, found.first_met) == (frozenset({one}), frozenset({THREE}))
    assert pinned_code(own, BASE) == {THREE: hashes[THREE]}
    assert len(client.asked) == 4
    assert forget_code(own, BASE, THREE)
    assert not forget_code(own, BASE, THREE)
    assert pinned_code(own, BASE) == {}
