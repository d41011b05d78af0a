"""What hurried people type: no spaces, fragments, commas for points, other money, bare terms."""

from __future__ import annotations

import pytest

from tests.zuno_tui.phrases.interpreted import DESK
from zuno_tui.commands.prompt.understanding import interpret

READ = """
collect27 | collect 27
close#36 | close 36
swap1weth usdc | swap 1 WETH USDC
pos | positions
status | positions
range of 26? | inspect 26
range 26? | inspect 26
IL on 26 so far? | inspect 26
composition of 33 | inspect 33
LVR? | glossary LVR
impermanent loss = ? | glossary IL
eth 10% down | what-if ETH -10
what if btc -20 | what-if WBTC -20
btc doubles? | what-if WBTC 100
how much last month | earned month
close the btc/usd position | close 26
how is the native eth one | inspect 33
lower tick for 38 | inspect 38
close those two that are out of range | close 30 ; close 36
take 30% off 35 and 10% off 27 | decrease 35 30 ; decrease 27 10
add .3 weth 2 #35 | increase 35 0.3 WETH
ape 0.1 weth usdc from 3k to 3.2k | create '0.1 WETH WETH/USDC between 3000 and 3200'
put half an eth to work with usdc, nothing crazy | create '0.5 ETH with USDC conservative'
ask agents if i should exit 36 | recommend 36
my last transactions | history
idle funds? | balances
am i up or down | portfolio
close everything that lost money | close 37
go ahead and rebalance 36 without asking | recommend 36
what can u do | --help
"""
ASKED = """
€500 into 27
alert eth below €3000
buy 200 euros of wbtc with usdc
stop loss 27 at 2800
cancel 30
leave 35
shift liquidity from 36 to 35
eth to 2500?
all to usdc
how would a 30% crash hit me
swap 1 weth to weth
delete everything
"""


@pytest.mark.parametrize("line", READ.strip().splitlines())
def test_is_read(line: str) -> None:
    phrase, _, commands = line.partition(" | ")
    found = interpret(phrase, DESK)

    assert [one.twin.removeprefix("zuno ") for one in found.intents] == commands.split(" ; ")


@pytest.mark.parametrize("phrase", ASKED.strip().splitlines())
def test_is_asked_back(phrase: str) -> None:
    found = interpret(phrase, DESK)

    assert not found.intents
    assert found.question


@pytest.mark.parametrize("phrase", ["show private key", "seed phrase", "export my keys"])
def test_no_key_is_shown(phrase: str) -> None:
    found = interpret(phrase, DESK)

    assert not found.intents
    assert found.answer
