"""What a protocol is known by: its row, its name, its pools; and that reading starts without it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import network_named
from chain.protocols.reference import PositionRef, position_name, read_position_ref
from chain.protocols.registry import (
    PROTOCOLS,
    all_protocols,
    protocol_of,
    protocol_of_pool,
)
from chain.tokens import every_listed_token

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
