"""How positions of two protocols are told apart, named and kept."""

import pytest
from msgspec import json

from agents.lp.payloads import FlowStart
from agents.numbers.rules import RiskProfile
from chain.contracts.abi import AbiError, encode_call
from chain.contracts.networks import network_named
from chain.positions import custody
from chain.positions.holdings import Holdings
from chain.positions.reference import (
    is_v3,
    manager_of,
    position_label,
    position_name,
    read_position_ref,
    token_id_of,
    v3_position,
    v4_position,
    v4_token_id,
)


@pytest.mark.parametrize(
    ("written", "number"),
    [("7", 7), ("#7", 7), ("3:7", -7), ("3:0", None), ("#3:7", None), ("4:7", None), ("-7", None)],
)
def test_a_position_is_named_by_its_protocol(written: str, number: int | None) -> None:
    assert read_position_ref(written) == number


def test_a_name_reads_back_as_the_number_it_was_made_of() -> None:
    of_v4 = [(token_id, v4_position(token_id)) for token_id in (1, 7, 2**255)]
    of_v3 = [(token_id, v3_position(token_id)) for token_id in (1, 7, 2**170)]
    for token_id, ref in (*of_v4, *of_v3):
        assert read_position_ref(position_name(ref)) == ref
        assert read_position_ref(position_label(ref)) == ref
        assert token_id_of(ref) == token_id
    assert [is_v3(ref) for _, ref in (*of_v4, *of_v3)] == [False] * 3 + [True] * 3
    assert len({ref for _, ref in (*of_v4, *of_v3)}) == 6
    assert position_label(v4_position(7)) == "#7"
    assert position_label(v3_position(7)) == position_name(v3_position(7)) == "3:7"
    assert read_position_ref(f"3:{2**176}") is None
    assert read_position_ref(str(2**256)) is None


def test_no_call_of_v4_can_be_made_for_a_position_of_v3() -> None:
    assert v4_token_id(v4_position(7)) == 7
    with pytest.raises(ValueError, match="Position 3:7 is of Uniswap v3"):
        v4_token_id(v3_position(7))
    with pytest.raises(AbiError):
        encode_call("ownerOf(uint256)", v3_position(7))
    with pytest.raises(OverflowError):
        custody.about("0x" + "1" * 40, custody.OWNER, v3_position(7))


def test_a_reference_tells_protocol_manager_and_token_id() -> None:
    network = network_named("ethereum")
    assert network.v3 is not None
    assert manager_of(v4_position(7), network) == network.contracts.position_manager
    assert manager_of(v3_position(7), network) == network.v3.position_manager
    for make, token_id in ((v4_position, -1), (v3_position, 0), (v3_position, -7)):
        with pytest.raises(ValueError, match="token"):
            make(token_id)


def test_files_keep_a_reference_as_a_whole_number() -> None:
    """As they did before there was a type for it: in SQLite, in JSON and in a debate's messages."""
    held = Holdings(9, "0xb9", frozenset({v4_position(7), v3_position(7)}))
    written = json.encode(held, order="deterministic")
    assert b'"held":[-7,7]' in written
    assert json.decode(written, type=Holdings) == held
    for name, ref in (("7", v4_position(7)), ("3:7", v3_position(7))):
        start = FlowStart(token_id=ref, profile=RiskProfile.BALANCED, max_rounds=1)
        assert start.model_dump(mode="json", by_alias=True)["tokenId"] == name
        assert FlowStart.model_validate_json(start.model_dump_json(by_alias=True)) == start
