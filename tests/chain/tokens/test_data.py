"""The bundled data: addresses carry valid checksums, and networks and tokens agree."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

import pytest

from chain.contracts.addresses import checksummed, shortened
from chain.contracts.networks import NATIVE, Network, all_networks, network_named
from chain.tokens import TokenClass, listed_token, listed_tokens

ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")


@pytest.mark.parametrize("name", ["networks.toml", "tokens.toml"])
def test_every_address_carries_its_checksum(name: str) -> None:
    text = files("chain.data").joinpath(name).read_text("utf-8")
    addresses = ADDRESS.findall(text)
    assert len(addresses) > 50
    assert [one for one in addresses if one != checksummed(one.lower())] == []


def test_a_wrong_letter_breaks_the_checksum() -> None:
    usdc = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
    assert checksummed(usdc.lower()) == usdc
    assert checksummed(usdc.lower().replace("eb48", "eb49")) != usdc.replace("eB48", "eB49")
    assert shortened(usdc.lower()) == "0xA0b8…eB48"


@pytest.mark.parametrize("network", all_networks(), ids=lambda network: network.name)
def test_each_network_lists_what_its_prices_rest_on(network: Network) -> None:
    tokens = listed_tokens(network)
    coin = tokens.tokens[0].token
    assert coin.address == NATIVE
    assert coin.symbol == network.native_symbol
    assert network.wrapped_native is not None
    wrapped = listed_token(network, network.wrapped_native)
    assert wrapped is not None
    assert wrapped.token.symbol == f"W{network.native_symbol}"
    assert network.stable is not None
    stable = listed_token(network, network.stable)
    assert stable is not None
    assert stable.kind is TokenClass.DOLLAR
    addresses = [item.token.address for item in tokens.tokens]
    symbols = [item.token.symbol for item in tokens.tokens]
    assert len(set(addresses)) == len(addresses)
    assert len(set(symbols)) == len(symbols)


def test_no_two_networks_share_a_name_or_an_id() -> None:
    networks = all_networks()
    assert len({network.chain_id for network in networks}) == len(networks)
    token_tables = tomllib.loads(files("chain.data").joinpath("tokens.toml").read_text("utf-8"))
    assert set(token_tables["network"]) == {network.name for network in networks}


def test_the_embedded_chain_keeps_its_own_time_and_has_no_market() -> None:
    devnet = network_named("31337")
    assert devnet.clock == "head"
    assert listed_tokens(devnet).platform is None
    assert all(item.coin is None for item in listed_tokens(devnet).tokens)
