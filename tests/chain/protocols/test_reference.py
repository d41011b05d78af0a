"""References to positions, and the registry of protocols."""

import subprocess
import sys

import pytest
from msgspec import json

from agents.lp.payloads import FlowStart
from agents.numbers.rules import RiskProfile
from chain.contracts.abi import AbiError, encode_call
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import network_named
from chain.protocols.reference import (
    PositionRef,
    position_label,
    position_name,
    read_position_ref,
    stored_position,
    v3_position,
    v4_position,
    v4_token_id,
)
from chain.protocols.registry import all_protocols, manager_of, protocol_of, protocol_of_pool
from chain.protocols.rows import PROTOCOLS
from chain.tokens import every_listed_token


@pytest.mark.parametrize(
    ("written", "name"),
    [("7", "7"), ("#7", "7"), ("3:7", "3:7"), *((no, None) for no in ("3:0", "#3:7", "4:7", "-7"))],
)
def test_a_position_is_named_by_its_protocol(written: str, name: str | None) -> None:
    ref = read_position_ref(written)
    assert (None if ref is None else str(ref)) == name


def test_a_name_reads_back_as_the_reference_it_was_made_of() -> None:
    of_v4 = [(token_id, v4_position(token_id)) for token_id in (1, 7, 2**255)]
    of_v3 = [(token_id, v3_position(token_id)) for token_id in (1, 7, 2**170)]
    for token_id, ref in (*of_v4, *of_v3):
        assert read_position_ref(position_name(ref)) == ref
        assert read_position_ref(position_label(ref)) == ref
        assert stored_position(str(ref)) == ref
        assert ref.token_id == token_id
    assert [ref.protocol for _, ref in (*of_v4, *of_v3)] == ["v4"] * 3 + ["v3"] * 3
    assert len({ref for _, ref in (*of_v4, *of_v3)}) == 6
    assert position_label(v4_position(7)) == "#7"
    assert position_label(v3_position(7)) == position_name(v3_position(7)) == "3:7"
    assert read_position_ref(f"3:{2**176}") is None
    assert read_position_ref(str(2**256)) is None


def test_no_call_of_v4_can_be_made_for_a_position_of_v3() -> None:
    assert v4_token_id(v4_position(7)) == 7
    with pytest.raises(ValueError, match="Position 3:7 is not v4's"):
        v4_token_id(v3_position(7))
    with pytest.raises(AbiError):
        encode_call("ownerOf(uint256)", v3_position(7))


def test_a_reference_tells_protocol_manager_and_token_id() -> None:
    network = network_named("ethereum")
    assert network.v3 is not None
    assert manager_of(v4_position(7), network) == network.contracts.position_manager
    assert manager_of(v3_position(7), network) == network.v3.position_manager
    for make, token_id in ((v4_position, -1), (v3_position, 0), (v3_position, -7)):
        with pytest.raises(ValueError, match="token"):
            make(token_id)


def test_references_of_two_managers_are_two_and_stay_two_where_they_are_kept() -> None:
    network, other = network_named("ethereum"), "0x" + "ab" * 20
    forked = PositionRef("v3", 7, other)
    assert len({forked, v3_position(7), v4_position(7)}) == 3
    assert manager_of(forked, network) == other
    assert str(forked) == f"3:7@{other}"
    assert stored_position(str(forked)) == forked
    assert read_position_ref(str(forked)) is None
    with pytest.raises(ValueError, match="no call"):
        v4_token_id(PositionRef("v4", 7, other))


def test_references_are_in_the_order_of_their_protocols_and_numbers() -> None:
    refs = [v4_position(10), v3_position(12), v4_position(9), v3_position(2)]
    assert list(map(str, sorted(refs))) == ["3:2", "3:12", "9", "10"]


def test_an_older_zuno_kept_a_number() -> None:
    assert stored_position("7") == v4_position(7)
    assert stored_position("-7") == v3_position(7)
    for text in ("", "-", "-0", "--7", "-3:7", "7@", "7@0x12", "seven"):
        with pytest.raises(ValueError, match="not a position's name"):
            stored_position(text)


def test_messages_name_a_position_as_they_always_did() -> None:
    for name, number, ref in (("7", 7, v4_position(7)), ("3:7", -7, v3_position(7))):
        start = FlowStart(token_id=ref, profile=RiskProfile.BALANCED, max_rounds=1)
        document = start.model_dump(mode="json", by_alias=True)
        assert document["tokenId"] == name
        assert FlowStart.model_validate_json(start.model_dump_json(by_alias=True)) == start
        assert FlowStart.model_validate_json(json.encode({**document, "tokenId": number})) == start


BASE = network_named("base")


def test_each_row_names_a_protocol_and_reads_its_references() -> None:
    assert [protocol.name for protocol in all_protocols()] == [row.name for row in PROTOCOLS]
    for row in PROTOCOLS:
        ref = PositionRef(row.name, row.first_id + 7)
        assert read_position_ref(position_name(ref)) == ref
        assert protocol_of(ref).name == row.name
        assert protocol_of(ref).manager(BASE)
        for outside in (row.first_id - 1, 1 << row.id_bits):
            assert read_position_ref(f"{row.prefix}{outside}") is None


def test_a_pool_is_of_the_protocol_whose_key_it_has_and_of_no_other() -> None:
    tokens = [item.token.address for item in every_listed_token(BASE)][:4]
    for protocol in all_protocols():
        keys = protocol.candidates(BASE, tokens)
        assert keys
        for key in keys:
            assert key.hooks == NO_HOOK
            assert protocol_of_pool(key.pool_id) is protocol
            assert protocol.key(key.values, key.pool_id) == key
            assert key.protocol == protocol.name
            assert [each for each in all_protocols() if each.has_pool(key.pool_id)] == [protocol]
    with pytest.raises(ValueError, match="No protocol names a pool"):
        protocol_of_pool("nowhere")


def test_a_name_is_read_without_what_reads_the_chain() -> None:
    asked = "from chain.protocols import reference; import sys; print(*sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not [name for name in told if name.startswith(("chain.protocols.v", "chain.rpc"))]
