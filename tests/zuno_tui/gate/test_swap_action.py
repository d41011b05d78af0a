"""`zuno swap`: one token sold for another through the same gate as everything else."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chain.contracts.addresses import checksum
from chain.contracts.networks import NATIVE, network_named
from chain.devnet.launch import DevnetReady
from chain.tokens import named_tokens
from tests import node_rpc
from tests.chain.moves import Moves
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import REFUSED, Desk
from zuno_tui.gate.actions.swap import token_named
from zuno_tui.gate.refusal import GateRefusedError

DEVNET = network_named("devnet")


@pytest.fixture
def desk(devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    with Moves(node_rpc.http(), devnet.url, network_named("devnet")).undone():
        yield Desk(devnet, CommandLine(tmp_path / "home"), capsys)


@pytest.mark.parametrize(("sold", "steps"), [("WETH", 3), ("ETH", 1)])
def test_what_is_shown_is_what_is_realised(desk: Desk, sold: str, steps: int) -> None:
    approval = desk.approved("swap", "0.5", sold, "USDC")
    applied = desk.apply_here(approval["planId"], "--confirm", approval["hash"], "--json")

    assert len(approval["transactions"]) == steps
    assert applied.code == 0, applied.words
    sold_in, bought = approval["swap"]["amountIn"], approval["swap"]["amountOut"]
    quoted, realised = applied.data["quoted"], applied.data["realised"]
    assert (sold_in, applied.data["state"]) == (str(5 * 10**17), "included")
    assert realised == quoted
    assert bought in realised.values()


@pytest.mark.parametrize(
    "asked",
    [("1", "NONE", "USDC"), ("1", "WETH", "WETH"), ("900000000", "USDC", "WETH")],
    ids=["an unknown token", "the same token", "more than a pool takes"],
)
def test_what_cannot_be_sold_is_refused_with_a_reason(desk: Desk, asked: tuple[str, ...]) -> None:
    spoken = desk.here("swap", *asked)

    assert spoken.code == REFUSED
    assert spoken.words


def test_a_price_that_moved_refuses_the_swap(desk: Desk) -> None:
    approval = desk.approved("swap", "0.5", "WETH", "USDC")
    desk.raise_price(approval["swap"]["poolId"], bips=100)

    desk.refused(approval["planId"], "--confirm", approval["hash"])


@pytest.mark.parametrize("symbol", ["ETH", "WETH", "USDC"])
@pytest.mark.parametrize("write", [str.upper, str.lower, str.title])
def test_a_token_is_found_by_its_symbol_however_it_is_written(
    symbol: str, write: Callable[[str], str]
) -> None:
    [address] = {one.token.address for one in named_tokens(DEVNET) if one.token.symbol == symbol}

    assert token_named(DEVNET, write(symbol)) == address
    assert (address == NATIVE) is (symbol == "ETH")


@pytest.mark.parametrize("write", [str, str.lower, str.upper, checksum])
def test_a_token_is_found_by_its_address_however_it_is_written(write: Callable[[str], str]) -> None:
    token = "0x" + "ab" * 20

    assert token_named(DEVNET, write(token)) == token


@pytest.mark.parametrize("named", ["0x", "0x" + "ab" * 19, "ab" * 21])
def test_what_is_neither_an_address_nor_a_known_symbol_is_refused(named: str) -> None:
    with pytest.raises(GateRefusedError):
        token_named(DEVNET, named)
