"""Phrases that are refused, and what is said about them."""

import pytest

from chain.contracts.networks import network_named
from zuno_tui.intents.phrase_error import PhraseError
from zuno_tui.intents.pieces import LONGEST_PHRASE
from zuno_tui.prompt.create_phrase import parse_create

BASE = network_named("base")

REFUSED = [
    # Numbers.
    ("1.000,5 USDC with WETH", "'1.000,5' is not a number zuno can be sure of", "USDC/WETH"),
    ("1,5 WETH", "'1,5' is not a number zuno can be sure of", "WETH"),
    ("1 WETH 0,05%", "'0,05' is not a number zuno can be sure of", "1 WETH"),
    ("0 USDC", "0 USDC is too little: an amount must be above zero", "USDC"),
    ("-5 USDC", "-5 USDC is too little: an amount must be above zero", "USDC"),
    ("−5 USDC", "-5 USDC is too little", "USDC"),
    ("0.0000001 USDC", "0.0000001 USDC cannot be: USDC has 6 decimals", "USDC"),
    ("1 WETH, 0.0000001 USDC", "USDC has 6 decimals", "1 WETH with USDC"),
    (f"{10**40} USDC", "is more than any pool can take", "USDC"),
    ("0.5 with USDC", "0.5 stands alone", "USDC"),
    ("1 500 USDC", "1 stands alone", "500 USDC"),
    ("1/2 WETH", "1 stands alone", "2 WETH"),
    ("1 WETH fee 500", "500 stands alone", "1 WETH"),
    ("WETH/USDC 0.5", "0.5 stands alone", "WETH/USDC"),
    ("1000 into WETH/USDC", "1000 stands alone", "WETH/USDC"),
    ("WETH 0.5 USDC", "0.5 could be WETH or USDC: write the amount first", "WETH/USDC"),
    ("$1,000 USDC", "'$' is not a token: name the one you have", "1,000 USDC"),
    ("half my WETH with USDC", "'half' is not understood. Amounts are numbers", "WETH/USDC"),
    # Capital.
    ("", "How much? Name an amount and its token, like 0.5 ETH", ""),
    (
        "WETH/USDC safe",
        "How much? Name an amount and its token, like 0.5 WETH",
        "WETH/USDC · conservative",
    ),
    ("conservative on base", "How much?", "conservative · on Base"),
    ("1 WETH and 2 WETH", "WETH has two amounts: write their sum once", "1 WETH"),
    (
        "1 WETH, 2 USDC, 3 DAI",
        "two tokens, but WETH, USDC and DAI are named",
        "1 WETH and 2 USDC and 3 DAI",
    ),
    # Tokens.
    ("0.5 SHIB with USDC", "zuno knows no token 'SHIB' on Base. Known there: ETH, WETH, U", "USDC"),
    ("0.5 WETHH", "zuno knows no token 'WETHH' (did you mean 'WETH'?) on Base", ""),
    ("0.5 WETH with USDQ", "zuno knows no token 'USDQ' (did you mean 'USDC'?)", "0.5 WETH"),
    ("0.5 WETH/PEPE", "zuno knows no token 'PEPE'", "0.5 WETH"),
    ("WBTC, 0.5 WETH", "zuno knows no token 'WBTC' (did you mean 'cbBTC'?) on Base", "0.5 WETH"),
    ("1 WETH on sepolia with DAI", "zuno knows no token 'DAI' on Sepolia", "1 WETH · on Sepolia"),
    (f"1 0x{'ab' * 20} with USDC", f"zuno knows no token '0x{'ab' * 20}' on Base", "USDC"),
    ("1 UЅDC", "zuno knows no token 'UЅDC'", ""),
    # Pairs.
    (
        "0.5 ETH in WETH/USDC",
        "The pair WETH/USDC does not hold ETH. ETH is the ne",
        "0.5 ETH with WETH and USDC",
    ),
    ("5 DAI WETH-USDC", "The pair WETH/USDC does not hold DAI.", "5 DAI with WETH and USDC"),
    ("1 WETH with WETH", "WETH with WETH is not a pair: a pool holds two different", "1 WETH"),
    ("1 WETH/WETH", "WETH/WETH is not a pair: a pool holds two different tokens", "1 WETH"),
    (
        "1 WETH/USDC, WETH/DAI",
        "You named several pairs, WETH/USDC and WETH/DAI",
        "1 WETH with USDC and DAI",
    ),
    (
        "1 WETH with USDC with DAI",
        "two tokens, but WETH, USDC and DAI are named",
        "1 WETH with USDC and DAI",
    ),
    # Wishes that exclude each other.
    (
        "1 WETH safe yolo",
        "You named several risk profiles, conservative and aggressive",
        "1 WETH",
    ),
    ("1 WETH 0.05% 30bps", "You named several fees, 0.05% and 0.3%: choose one", "1 WETH"),
    ("1 WETH stay long 50/50", "You named several exposures, stay long and neutral", "1 WETH"),
    ("1 WETH on base on sepolia", "You named several networks, Base and Sepolia", "1 WETH"),
    ("1 WETH keep my USDC", "USDC cannot be kept: the capital is WETH", "1 WETH · stay long"),
    (
        "1 WETH keep WETH keep DAI",
        "You named several tokens to keep, WETH and DAI",
        "1 WETH · stay long",
    ),
    (
        "1 WETH, 1 cbBTC, stay long",
        "Stay long in which token? 'stay long WETH' and",
        "1 WETH and 1 cbBTC · stay long",
    ),
    # Fees.
    ("1 WETH 0.00001%", "No pool charges 0.00001%: fees go in steps of 0.0001%", "1 WETH"),
    ("1 WETH 101%", "No pool charges 101%: a fee lies between 0% and 100%", "1 WETH"),
    ("1 WETH -5bps", "No pool charges -5bps: a fee lies between", "1 WETH"),
    ("1 WETH 3000000 bps", "No pool charges 3000000bps", "1 WETH"),
    ("1 WETH %", "'%' needs a number before it, like 0.3%", "1 WETH"),
    ("1 WETH bps", "'bps' needs a number before it, like 30bps", "1 WETH"),
    # Networks.
    ("1 WETH on solana", "There is no network called 'solana'", "1 WETH"),
    (
        "1 WETH on bse",
        "There is no network called 'bse' (did you mean 'base'?). Known: eth",
        "1 WETH",
    ),
    ("1 WETH on", "'on' needs a network after it. Known: ethereum, optimism", "1 WETH"),
    ("1 WETH base", "zuno does not understand 'base' (did you mean 'on base'?)", "1 WETH"),
    # Words.
    ("1 WETH agressive", "'agressive' (did you mean 'aggressive'?)", "1 WETH"),
    ("1 WETH long", "'long' (did you mean 'stay long'?)", "1 WETH"),
    ("1 WETH not aggressive", "zuno does not understand 'not'", "1 WETH · aggressive"),
    ("swap 1 WETH quickly, ok", "zuno does not understand 'swap', 'quickly' and 'ok'", "1 WETH"),
    ("1 WETH stay in range", "'stay in range' is not understood. The risk decides", "1 WETH"),
    ("1 WETH wide", "'wide' is not understood. The risk decides the width", "1 WETH"),
    ("1 WETH keep", "'keep' needs the token to keep after it", "1 WETH"),
    ("keep my range 1 WETH", "'keep' needs the token to keep after it", "1 WETH"),
]


@pytest.mark.parametrize(("text", "sentence", "understood"), REFUSED)
def test_a_refusal_says_why_and_what_was_understood(
    text: str, sentence: str, understood: str
) -> None:
    with pytest.raises(PhraseError) as refused:
        parse_create(text, BASE)

    assert sentence in refused.value.sentence
    assert refused.value.sentence.endswith((".", "?"))
    assert refused.value.understood == understood
    assert refused.value.understood in str(refused.value)


def test_every_unknown_word_is_named() -> None:
    words = ("frob", "nargle", "quux", "zork", "plugh", "xyzzy", "grue", "blorb")

    with pytest.raises(PhraseError) as refused:
        parse_create(f"1 WETH {' '.join(words)}", BASE)

    assert all(f"'{word}'" in refused.value.sentence for word in words)


def test_the_error_reads_as_one_line_of_plain_text() -> None:
    with pytest.raises(PhraseError) as refused:
        parse_create("0.5 WETH\x1b[31m with\u202e \x07evil\n[bold]x[/bold]", BASE)

    assert str(refused.value).isprintable()


def test_a_phrase_may_not_be_a_novel() -> None:
    with pytest.raises(PhraseError, match=f"at most {LONGEST_PHRASE} characters"):
        parse_create("a" * (LONGEST_PHRASE + 1), BASE)
