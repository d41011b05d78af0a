"""Tokens read from the chain and from the list."""

import io
import json
import re
import tarfile
import tomllib
from fractions import Fraction
from importlib.resources import files

import pytest

from chain.base.store import Store
from chain.base.units import Known
from chain.contracts.abi import encode
from chain.contracts.addresses import checksum, shorten_address
from chain.contracts.networks import NATIVE, Network, all_networks, network_named
from chain.contracts.pool_key import PoolKey
from chain.math.fees import ProtocolFee
from chain.math.liquidity import Amounts
from chain.prices.pool_prices import prices_from_pools
from chain.protocols.pool import PoolState
from chain.rpc.records import Block
from chain.rpc.requests import CallOutcome
from chain.tokens import (
    Token,
    TokenClass,
    amount_text,
    ask_tokens,
    listed_token,
    listed_tokens,
    named_tokens,
)
from chain.tokens.token import default_tokens, read_default_tokens
from tools.release.token_list import LIST, data_files, integrity

ETHEREUM = network_named("ethereum")
USDC = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
STRANGER = "0x" + "5a" * 20
OTHER = "0x" + "77" * 20
FAILED = CallOutcome(success=False, data=b"")


def returned(types: str, value: object) -> CallOutcome:
    return CallOutcome(success=True, data=encode([types], [value]))


def read(symbol: CallOutcome, decimals: CallOutcome) -> Token:
    question = ask_tokens(ETHEREUM, [STRANGER])
    return question.read_outcomes([symbol, decimals], None, now=0)[STRANGER]


def test_an_ordinary_token_is_read_and_not_believed() -> None:
    token = read(returned("string", "GMX"), returned("uint8", 18))
    assert token == Token(STRANGER, "GMX", 18, verified=False, suspicious=False)


@pytest.mark.parametrize(
    ("symbol", "shown", "suspicious"),
    [
        (returned("bytes32", b"QWOP".ljust(32, b"\0")), "QWOP", False),
        (returned("bytes32", bytes(32)), "", False),
        (returned("string", ""), "", False),
        (returned("string", b"\xff\xfe\x80"), "���", False),
        (returned("string", b"X" * 1_000_000), "X" * 23 + "…", True),
        (returned("string", "\x1b]52;c;AAAA\x07OK"), "]52;c;AAAAOK", True),
        (CallOutcome(success=True, data=b""), "", False),
        (CallOutcome(success=True, data=b"\x01" * 31), "", False),
        (CallOutcome(success=True, data=b"\xff" * 96), "", False),
        (FAILED, "", False),
    ],
)
def test_odd_symbols_survive(symbol: CallOutcome, shown: str, suspicious: bool) -> None:
    token = read(symbol, returned("uint8", 6))
    assert (token.symbol, token.suspicious, token.decimals) == (shown, suspicious, 6)
    assert token.label.startswith("?")


@pytest.mark.parametrize(
    ("decimals", "expected"),
    [
        (returned("uint8", 0), 0),
        (returned("uint256", 77), 77),
        (returned("uint256", 78), None),
        (returned("uint256", 2**256 - 1), None),
        (CallOutcome(success=True, data=b""), None),
        (CallOutcome(success=True, data=b"\x12"), None),
        (FAILED, None),
    ],
)
def test_decimals_that_cannot_be_used_are_unknown(
    decimals: CallOutcome, expected: int | None
) -> None:
    assert read(returned("string", "GMX"), decimals).decimals == expected


def test_amounts_are_told_to_the_unit_or_raw() -> None:
    known = read(returned("string", "GMX"), returned("uint8", 6))
    assert amount_text(1_500_000, known) == "1.5 ?GMX 0x5a5A…5A5A"
    assert amount_text(1, known) == "0.000001 ?GMX 0x5a5A…5A5A"
    assert amount_text(-2_000_000, known) == "-2 ?GMX 0x5a5A…5A5A"
    whole = read(returned("string", "GMX"), returned("uint8", 0))
    assert amount_text(42, whole) == "42 ?GMX 0x5a5A…5A5A"
    unknown = read(returned("string", "GMX"), FAILED)
    assert amount_text(42, unknown) == "42 raw units of ?GMX 0x5a5A…5A5A (decimals unknown)"


def test_listed_tokens_are_never_asked() -> None:
    question = ask_tokens(ETHEREUM, [USDC, STRANGER, USDC])
    assert question.asked == (STRANGER,)
    assert [call.target for call in question.calls] == [STRANGER, STRANGER]
    assert question.known[USDC].label == "USDC"


def test_what_was_read_is_remembered_and_judged_anew() -> None:
    store = Store.in_memory()
    question = ask_tokens(ETHEREUM, [STRANGER, OTHER], store)
    outcomes = [returned("string", "ＵＳＤＣ"), returned("uint8", 6), FAILED, FAILED]
    first = question.read_outcomes(outcomes, store, now=1)
    again = ask_tokens(ETHEREUM, [STRANGER, OTHER], store)
    assert again.known == {STRANGER: first[STRANGER]}
    assert again.known[STRANGER].suspicious
    assert again.asked == (OTHER,), "a failure may have been the node's"
    assert ask_tokens(network_named("base"), [STRANGER], store).asked == (STRANGER,)


def test_a_damaged_memory_is_asked_again() -> None:
    store = Store.in_memory()
    key = f"1:{STRANGER}"
    for broken in ("text", {"symbol": 5, "decimals": 6}, {"symbol": "zz", "decimals": 6}, None):
        store.put("tokens", key, broken, now=0)
        assert ask_tokens(ETHEREUM, [STRANGER], store).asked == (STRANGER,)


def test_outcomes_must_answer_what_was_asked() -> None:
    with pytest.raises(ValueError, match="do not answer"):
        ask_tokens(ETHEREUM, [STRANGER]).read_outcomes([FAILED], None, now=0)


ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")


@pytest.mark.parametrize("name", ["networks.toml", "tokens.toml"])
def test_every_address_carries_its_checksum(name: str) -> None:
    text = files("chain.data").joinpath(name).read_text("utf-8")
    addresses = ADDRESS.findall(text)
    assert len(addresses) > 50
    assert [one for one in addresses if one != checksum(one.lower())] == []


def test_a_wrong_letter_breaks_the_checksum() -> None:
    usdc = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
    assert checksum(usdc.lower()) == usdc
    assert checksum(usdc.lower().replace("eb48", "eb49")) != usdc.replace("eB48", "eB49")
    assert shorten_address(usdc.lower()) == "0xA0b8…eB48"


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
    assert told["tokens"] == [[checksum("0x" + "ab" * 20), "APPLE", 9]]
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
    assert [row for row in pinned.tokens if row[0] != checksum(row[0].lower())] == []
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
