"""What is kept of what leaves a position: told to the unit, judged to the rounding."""

from __future__ import annotations

import pytest

from chain.contracts.networks import network_named
from chain.execution.decode.words import names_on
from chain.execution.exit_tax import ExitTax, untold_tokens
from chain.execution.simulate import Simulation, StepOutcome
from chain.tokens import Token

TOKEN = "0x" + "ab" * 20


def _kept(owed: int, kept: int) -> ExitTax:
    return ExitTax(TOKEN, owed, owed - kept, by_hook=True)


@pytest.mark.parametrize(("owed", "share"), [(10**18, 20_000), (10**18 + 7, 20_000), (999, 1)])
def test_the_same_share_of_any_amount_is_the_same(owed: int, share: int) -> None:
    for amount in (owed, owed + 1, owed * 3 // 2):
        assert not _kept(amount, amount * share // 10**6).exceeds(share)


def test_one_basis_point_more_is_more() -> None:
    assert _kept(10**18, 10**18 * 201 // 10_000).exceeds(20_000)
    assert not _kept(10**18, 10**18 * 199 // 10_000).exceeds(20_000)


def test_a_share_is_rounded_against_whoever_keeps_it() -> None:
    assert _kept(10**18, 1).millionths == 1
    assert _kept(10**18, 10**16).millionths == 10_000


@pytest.mark.parametrize(
    ("listed", "agreed", "said"),
    [(True, False, False), (True, True, True), (False, False, True), (False, True, True)],
)
def test_of_a_listed_token_nothing_is_said_on_one_endpoints_word(
    listed: bool, agreed: bool, said: bool
) -> None:
    token = Token(TOKEN, "WETH", 18, verified=listed, suspicious=not listed)
    names = names_on(network_named("base"), "0x" + "cd" * 20, {TOKEN: token})
    outcome = StepOutcome("collect", True, 90_000, {TOKEN: 5}, None, {TOKEN: 5})
    tried = Simulation("eth_simulateV1", (outcome,), ())

    assert untold_tokens(tried, names, agreed=agreed) == ((TOKEN,) if said else ())
