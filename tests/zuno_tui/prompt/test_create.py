"""Phrases that are understood, and what is understood by them."""

import subprocess
import sys

import pytest

from agents.numbers.rules import RiskProfile
from agents.numbers.shapes import ExposureBias
from chain.contracts.networks import NATIVE, Network, all_networks, network_named
from chain.tokens.token import listed_tokens
from zuno_tui.prompt.create_parts import MEANINGS
from zuno_tui.prompt.create_phrase import CreatePhrase, parse_create

BASE = network_named("base")
WETH, USDC, DAI = (
    next(item.token.address for item in listed_tokens(BASE).tokens if item.token.symbol == symbol)
    for symbol in ("WETH", "USDC", "DAI")
)
PLAIN = "0.5 WETH with USDC · on Base"


def read(text: str, network: Network = BASE) -> CreatePhrase:
    return parse_create(text, network)


def test_the_phrase_of_the_manual() -> None:
    phrase = read("0.5 WETH with USDC, conservative, stay long, 0.05%")

    assert phrase.understood == (
        "0.5 WETH with USDC · conservative · stay long · fee 0.05% · on Base"
    )
    assert phrase.profile is RiskProfile.CONSERVATIVE
    assert phrase.network is BASE
    [capital] = phrase.goal.capital
    assert (capital.token, capital.amount) == (WETH, 5 * 10**17)
    assert phrase.goal.pair == (WETH, USDC)
    assert phrase.goal.exposure is ExposureBias.LONG_TOKEN
    assert phrase.goal.fee == 500


@pytest.mark.parametrize(
    "text",
    [
        "0.5 WETH with USDC",
        "0.5 weth WITH usdc",
        "WETH 0.5 with USDC",
        "with USDC 0.5 WETH",
        "0.5WETH/USDC",
        "create 0.5 WETH/USDC",
        "0.5 WETH-USDC",
        "0.5 WETH – USDC",
        "WETH/USDC, 0.5 WETH",
        "USDC/WETH 0.5 WETH",
        "open a new WETH/USDC position with 0.5 WETH",
        "Please provide liquidity: .5 of my WETH into the WETH/USDC pool.",
        "“0.5 WETH with USDC”",
        "'0.5 WETH with USDC'",
        "0.5 WETH USDC",
        "0.50 WETH against USDC",
        "mint lp range using 0.5 weth and usdc",
        f"0.5 {WETH} with {USDC.upper().replace('0X', '0x')}",
        "0.5 WETH with USDC with USDC, WETH/USDC",
        "0.5\u200b WETH\twith\nUSDC",
    ],
)
def test_many_ways_to_say_one_thing(text: str) -> None:
    assert read(text) == read("0.5 WETH with USDC")
    assert read(text).understood == PLAIN


@pytest.mark.parametrize(
    ("text", "understood"),
    [
        ("1,000 USDC", "1,000 USDC"),
        ("1k USDC", "1,000 USDC"),
        ("2.5m usdc with dai", "2,500,000 USDC with DAI"),
        ("0.5 WETH and 1,500 USDC", "0.5 WETH and 1,500 USDC"),
        ("0.5 WETH + 1,500 USDC", "0.5 WETH and 1,500 USDC"),
        ("0.5 WETH+1500 USDC", "0.5 WETH and 1,500 USDC"),
        ("0.5 WETH & 1.5k USDC", "0.5 WETH and 1,500 USDC"),
        ("0.5 WETH, 1,500 USDC", "0.5 WETH and 1,500 USDC"),
        ("0.5 WETH 1500 USDC", "0.5 WETH and 1,500 USDC"),
        ("WETH 0.5 USDC 1500", "0.5 WETH and 1,500 USDC"),
        ("0.5 WETH and USDC 1500", "0.5 WETH and 1,500 USDC"),
        ("0.5 WETH with 1500 USDC", "0.5 WETH and 1,500 USDC"),
        ("0.5 WETH with USDC 1500", "0.5 WETH and 1,500 USDC"),
        ("WETH/USDC with 1500 USDC and 0.5 WETH", "1,500 USDC and 0.5 WETH"),
        ("0.123456789012345678 wsteth", "0.123456789012345678 wstETH"),
        ("0.00000001 CBBTC", "0.00000001 cbBTC"),
    ],
)
def test_capital(text: str, understood: str) -> None:
    assert read(text).understood == f"{understood} · on Base"


@pytest.mark.parametrize(
    ("words", "profile"),
    [
        ("conservative", RiskProfile.CONSERVATIVE),
        ("passive", RiskProfile.CONSERVATIVE),
        ("Safely", RiskProfile.CONSERVATIVE),
        ("cautiously", RiskProfile.CONSERVATIVE),
        ("defensive", RiskProfile.CONSERVATIVE),
        ("BALANCED", RiskProfile.BALANCED),
        ("moderately", RiskProfile.BALANCED),
        ("neutral risk", RiskProfile.BALANCED),
        ("risk-neutral", RiskProfile.BALANCED),
        ("aggressively", RiskProfile.AGGRESSIVE),
        ("active", RiskProfile.AGGRESSIVE),
        ("yolo degen spicy", RiskProfile.AGGRESSIVE),
        ("", None),
    ],
)
def test_risk(words: str, profile: RiskProfile | None) -> None:
    phrase = read(f"{words} 0.5 WETH with USDC")

    assert phrase.profile is profile
    assert phrase.goal.exposure is ExposureBias.NEUTRAL


@pytest.mark.parametrize(
    ("words", "pips"),
    [
        ("0.05%", 500),
        ("0.05 %", 500),
        ("5bps", 500),
        ("30bps", 3000),
        ("30 bp", 3000),
        ("fee tier 1 basis points", 100),
        ("1%", 10_000),
        ("at 0.3% fee", 3000),
        (".0001%", 1),
        ("0.01bps", 1),
        ("100%", 1_000_000),
        ("0%", 0),
        ("30bps, 0.30%", 3000),
        ("", None),
    ],
)
def test_fee(words: str, pips: int | None) -> None:
    assert read(f"0.5 WETH {words} with USDC").goal.fee == pips


@pytest.mark.parametrize(
    ("words", "bias"),
    [
        ("stay long", ExposureBias.LONG_TOKEN),
        ("Stay-Long", ExposureBias.LONG_TOKEN),
        ("stay in", ExposureBias.LONG_TOKEN),
        ("stay in WETH", ExposureBias.LONG_TOKEN),
        ("keep my WETH", ExposureBias.LONG_TOKEN),
        ("hold WETH", ExposureBias.LONG_TOKEN),
        ("don't sell", ExposureBias.LONG_TOKEN),
        ("don’t sell my weth", ExposureBias.LONG_TOKEN),
        ("do not sell", ExposureBias.LONG_TOKEN),
        ("long exposure to WETH", ExposureBias.LONG_TOKEN),
        ("stay long, keep my WETH", ExposureBias.LONG_TOKEN),
        ("neutral", ExposureBias.NEUTRAL),
        ("neutral exposure", ExposureBias.NEUTRAL),
        ("50/50", ExposureBias.NEUTRAL),
        ("50-50", ExposureBias.NEUTRAL),
        ("50 / 50", ExposureBias.NEUTRAL),
    ],
)
def test_exposure(words: str, bias: ExposureBias) -> None:
    phrase = read(f"0.5 WETH with USDC, {words}")
    told = {ExposureBias.LONG_TOKEN: "stay long", ExposureBias.NEUTRAL: "neutral"}[bias]

    assert phrase.goal.exposure is bias
    assert phrase.profile is None
    assert phrase.understood == f"0.5 WETH with USDC · {told} · on Base"


@pytest.mark.parametrize(
    ("text", "first", "told"),
    [
        ("0.5 WETH and 1500 USDC, stay long", WETH, "stay long WETH"),
        ("1500 USDC and 0.5 WETH, stay long", WETH, "stay long WETH"),
        ("0.5 WETH and 1500 USDC, stay long USDC", USDC, "stay long USDC"),
        ("keep my 0.5 WETH and 1500 USDC", WETH, "stay long WETH"),
        ("1500 USDC with WETH, stay long", USDC, "stay long USDC"),
        ("0.5 WETH and 2 cbETH, hold my WETH", WETH, "stay long WETH"),
    ],
)
def test_the_token_to_stay_long_in_comes_first_and_is_named(
    text: str, first: str, told: str
) -> None:
    phrase = read(text)

    assert phrase.goal.capital[0].token == first
    assert told in phrase.understood.split(" · ")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("on base", "base"),
        ("on Sepolia", "sepolia"),
        ("on base sepolia", "base-sepolia"),
        ("on base-sepolia", "base-sepolia"),
        ("on the unichain network", "unichain"),
        ("on OP Mainnet", "optimism"),
        ("on mainnet", "ethereum"),
        ("on eth", "ethereum"),
        ("on arb", "arbitrum"),
        ("on arbitrum one", "arbitrum"),
        ("on devnet", "devnet"),
        ("on op on optimism", "optimism"),
        ("", "base"),
    ],
)
def test_network(words: str, name: str) -> None:
    for text in (f"{words} 0.5 WETH with USDC", f"0.5 WETH {words}, USDC"):
        phrase = read(text)
        known = {item.token.address for item in listed_tokens(network_named(name)).tokens}

        assert phrase.network.name == name
        assert {phrase.goal.capital[0].token, *(phrase.goal.pair or ())} <= known


def test_ether_is_the_coin_itself_and_its_wrapped_form_another_token() -> None:
    ether, wrapped = read("0.5 ETH with USDC"), read("0.5 WETH with USDC")

    assert ether.goal.capital[0].token == NATIVE
    assert ether.goal.pair == (NATIVE, USDC)
    assert wrapped.goal.capital[0].token == WETH
    assert read("0.5 ETH with WETH").goal.pair == (NATIVE, WETH)


def test_ether_on_a_network_with_another_coin_is_the_token_listed_there() -> None:
    network = network_named("bnb")
    [token] = [item.token for item in listed_tokens(network).tokens if item.token.symbol == "ETH"]

    assert read("2 ETH with BNB", network).goal.capital[0].token == token.address != NATIVE


def test_a_pair_is_sorted_as_pools_sort_it_and_absent_when_only_one_token_is_named() -> None:
    assert read("1 USDC with DAI").goal.pair == (DAI, USDC)
    assert read("1 USDC and 1 DAI").goal.pair == (DAI, USDC)
    assert read("1 USDC").goal.pair is None


def test_a_symbol_with_a_full_stop_is_not_the_one_without() -> None:
    network = network_named("optimism")

    assert read("5 USDC.e with USDC.", network).understood == "5 USDC.e with USDC · on OP Mainnet"


def test_decimals_are_those_of_the_token_on_its_network() -> None:
    assert read("1 USDC").goal.capital[0].amount == 10**6
    assert read("1 USDC on bnb").goal.capital[0].amount == 10**18


def test_no_listed_symbol_is_a_word_of_the_grammar() -> None:
    words = {word for phrase in MEANINGS for word in phrase} | {"on"}

    for network in all_networks():
        symbols = [item.token.symbol.lower() for item in listed_tokens(network).tokens]
        assert words.isdisjoint(symbols)
        assert len(symbols) == len(set(symbols))


def test_reading_waits_with_pydantic_until_there_is_a_goal() -> None:
    program = """
import sys
from chain.contracts.networks import network_named
from zuno_tui.prompt.create_phrase import PhraseError, parse_create
try:
    parse_create("0.5 WETH frobnicate", network_named("base"))
except PhraseError:
    print("pydantic" in sys.modules)
parse_create("0.5 WETH", network_named("base"))
print("pydantic" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.split() == ["False", "True"]
