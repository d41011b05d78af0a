"""Uniswap's default list: how the data files are made of it, and what they are trusted with."""

from __future__ import annotations

import io
import json
import tarfile
from fractions import Fraction
from importlib.resources import files

import pytest

from chain.base.units import Known
from chain.contracts.addresses import checksummed
from chain.contracts.networks import NATIVE, Network, all_networks, network_named
from chain.contracts.pool_key import PoolKey
from chain.math.fees import ProtocolFee
from chain.math.liquidity import Amounts
from chain.prices.pool_prices import prices_from_pools
from chain.protocols.pool import PoolState
from chain.rpc.records import Block
from chain.tokens import TokenClass, listed_token, listed_tokens, named_tokens
from chain.tokens.token import default_tokens, read_default_tokens
from tools.release.token_list import LIST, data_files, integrity

OPTIMISM = network_named("optimism")
DOLLAR = "0x01bff41798a0bcf287b996046ca68b395dbc1071"
PINNED = [
    network
    for network in all_networks()
    if files("chain.data").joinpath("default_tokens", f"{network.name}.json").is_file()
]


def _archive(tokens: list[dict[str, object]]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as packed:
        data = json.dumps({"name": "list", "tokens": tokens}).encode()
        member = tarfile.TarInfo(LIST)
        member.size = len(data)
        packed.addfile(member, io.BytesIO(data))
    return written.getvalue()


def _token(**changed: object) -> dict[str, object]:
    told = {"chainId": 8453, "address": "0x" + "AB" * 20, "symbol": "APPLE", "decimals": 9}
    return {**told, "name": "Apple", "logoURI": "https://apple", **changed}


def test_a_package_becomes_a_file_for_each_network_that_is_known() -> None:
    archive = _archive([_token(), _token(chainId=43114), _token(chainId=1, symbol="PEAR")])

    written = data_files(archive, "1.2.3")

    assert set(written) == {"base.json", "ethereum.json"}
    told = json.loads(written["base.json"])
    assert told["tokens"] == [[checksummed("0x" + "ab" * 20), "APPLE", 9]]
    assert (told["version"], told["integrity"]) == ("1.2.3", integrity(archive))


def test_a_symbol_that_could_steer_a_terminal_is_left_out() -> None:
    archive = _archive([_token(symbol="A\u202eB"), _token(symbol="\x1b[2J"), _token(symbol="")])

    assert data_files(archive, "1.2.3") == {}


@pytest.mark.parametrize("changed", [{"address": "0x12"}, {"decimals": 78}, {"decimals": -1}])
def test_a_list_that_cannot_be_used_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="cannot be used"):
        data_files(_archive([_token(**changed)]), "1.2.3")


@pytest.mark.parametrize("network", PINNED, ids=lambda network: network.name)
def test_the_pinned_list_agrees_with_our_own(network: Network) -> None:
    pinned = read_default_tokens(network.name)
    assert pinned is not None
    assert pinned.integrity.startswith("sha512-")
    assert [row for row in pinned.tokens if row[0] != checksummed(row[0].lower())] == []
    for item in listed_tokens(network).tokens:
        default = default_tokens(network.name).get(item.token.address)
        assert default is None or default.decimals == item.token.decimals


def test_a_token_beyond_our_own_list_is_vouched_for_where_it_is_listed() -> None:
    found = listed_token(OPTIMISM, DOLLAR)

    assert found is not None
    assert found.token.label == "USDT0"
    assert found.kind is TokenClass.DOLLAR
    assert listed_token(network_named("base"), DOLLAR) is None
    assert "USDT0" in {item.token.symbol for item in named_tokens(OPTIMISM)}


def test_a_symbol_listed_twice_names_nothing() -> None:
    symbols = [item.token.symbol.lower() for item in named_tokens(network_named("ethereum"))]
    twice = [one.symbol for one in default_tokens("ethereum").values() if one.symbol == "LIT"]

    assert len(twice) == 2
    assert "lit" not in symbols
    assert len(symbols) == len(set(symbols))


def test_pools_price_what_the_default_list_vouches_for() -> None:
    assert OPTIMISM.stable is not None
    key = PoolKey(DOLLAR, OPTIMISM.stable, 100, 1, NATIVE)
    state = PoolState(key, key.pool_id, 1 << 96, 0, 100, ProtocolFee(0, 0), 10**18)
    block = Block(1, "0x1", "0x0", 1, 0, 0, 0)
    deep = {state.pool_id: Amounts(10**12, 10**12)}

    prices = prices_from_pools(OPTIMISM, [DOLLAR], [state], deep, block)

    price = prices[DOLLAR]
    assert isinstance(price, Known)
    assert price.value == Fraction(1)
