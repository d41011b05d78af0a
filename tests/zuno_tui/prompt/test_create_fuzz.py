"""Whatever is typed: a goal that can be checked, or a refusal."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from chain.base.units import write_amount
from chain.contracts.networks import NATIVE, Network, all_networks, network_named
from chain.tokens.token import listed_tokens
from zuno_tui.intents.phrase_error import PhraseError
from zuno_tui.prompt.create_parts import MEANINGS, known_symbols, known_tokens
from zuno_tui.prompt.create_phrase import MOST_UNITS, CreatePhrase, parse_create

BASE = network_named("base")
SHREDS = (
    *(" ".join(words) for words in MEANINGS),
    *known_symbols(BASE),
    *("on base", "on sepolia", "on", "0.5", "1,000", "1.000,5", "1k", "30", "0", "-1", ".5"),
    *("%", "/", "-", "+", "&", ",", ".", "·", "'", "$", "50/50", "\x00", "\x1b[2J", "٣", "🦄"),
    *("0x", NATIVE, "e18", "zz", "\u202e", "\ud800", "9" * 90, "İ", "ﬁ", "½"),
)


def outcome(text: str, network: Network = BASE) -> CreatePhrase | None:
    try:
        phrase = parse_create(text, network)
    except PhraseError as error:
        refused = error
    else:
        check(phrase, network)
        return phrase
    assert refused.sentence
    assert str(refused).isprintable()
    return None


def check(phrase: CreatePhrase, network: Network) -> None:
    known = {item.token.address for item in listed_tokens(phrase.network).tokens}
    tokens = [capital.token for capital in phrase.goal.capital]
    assert 1 <= len(tokens) <= 2
    assert len(set(tokens)) == len(tokens)
    assert set(tokens) <= known
    assert all(0 < capital.amount <= MOST_UNITS for capital in phrase.goal.capital)
    assert phrase.goal.pair is None or set(tokens) <= set(phrase.goal.pair) <= known
    assert phrase.goal.fee is None or 0 <= phrase.goal.fee <= 1_000_000
    assert parse_create(phrase.understood, network) == phrase


def test_two_thousand_random_strings_raise_nothing_but_refusals() -> None:
    chance = random.Random(20)
    understood = 0
    for kind in range(2000):
        length = chance.randrange(60)
        match kind % 4:
            case 0:
                text = "".join(chr(chance.randrange(0x11_0000)) for _ in range(length))
            case 1:
                text = "".join(chr(chance.randrange(0x20, 0x7F)) for _ in range(length))
            case _:
                shreds = chance.choices(SHREDS, k=chance.randrange(1, 6))
                joint = chance.choice((" ", ", ", ""))
                text = joint.join(("0.5 WETH", *shreds) if kind % 4 == 2 else shreds)
        understood += outcome(text) is not None

    assert understood > 50


@given(st.text(max_size=420))
def test_any_text_is_understood_or_refused(text: str) -> None:
    outcome(text)


@st.composite
def orders(draw: st.DrawFn) -> tuple[str, Network, dict[str, int]]:
    """A phrase built from known parts in any order and case, and the capital it names."""
    network = draw(st.sampled_from(all_networks()))
    symbols = draw(
        st.lists(st.sampled_from(known_symbols(network)), min_size=2, max_size=2, unique=True)
    )
    tokens = [known_tokens(network)[symbol.lower()] for symbol in symbols]
    amounts = [
        draw(st.integers(1, MOST_UNITS)) for _ in draw(st.sampled_from((tokens[:1], tokens)))
    ]
    capital = dict(zip((token.address for token in tokens), amounts, strict=False))
    clauses = []
    for token, units in zip(tokens, amounts, strict=False):
        both = [write_amount(units, token.decimals), token.symbol]
        clauses.append(" ".join(draw(st.permutations(both))))
    partner = draw(
        st.sampled_from(("", f"with {symbols[1]}", "/".join(symbols), "-".join(symbols)))
    )
    for clause in (
        partner,
        draw(st.sampled_from(("", "safe", "moderately", "degen"))),
        draw(st.sampled_from(("", f"keep my {symbols[0]}", "neutral", "50-50"))),
        draw(st.sampled_from(("", "5 bps", "fee 0.3%", "1%"))),
        f"on {draw(st.sampled_from((network.name, network.title)))}",
    ):
        if clause:
            clauses.append(clause)
    text = draw(st.sampled_from((", ", " · ", "; "))).join(draw(st.permutations(clauses)))
    return draw(st.sampled_from((text, text.lower(), text.upper()))), network, capital


@settings(max_examples=120)
@given(orders())
def test_every_order_and_case_names_the_same_capital(
    order: tuple[str, Network, dict[str, int]],
) -> None:
    text, network, capital = order

    phrase = outcome(text)

    assert phrase is not None
    assert phrase.network is network
    assert {one.token: one.amount for one in phrase.goal.capital} == capital
