"""ENS names where an address is asked for: on the command line, for a wallet, at the desk."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from chain.base.home import Home
from chain.contracts.addresses import checksum
from chain.devnet.launch import DevnetReady
from chain.wallet.address_book import read_book
from tests import node_rpc
from tests.chain.names.ens_on_chain import EnsOnChain
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.cli import main
from zuno_tui.desk.events import PositionsChanged, Said
from zuno_tui.intents.intents import UseWallet
from zuno_tui.present.exit_codes import DONE, FAILED, USAGE

STRANGER = "0x" + "77" * 20


@pytest.fixture(scope="module", autouse=True)
def _names(devnet: DevnetReady) -> Iterator[None]:
    """`demo.eth` goes both ways; `nickname.eth` names the same address, which goes by the other."""
    node = partial(node_rpc.ask, devnet.url)
    before = node("evm_snapshot")
    names = EnsOnChain(node)
    names.register("demo.eth", devnet.wallet)
    names.go_by(devnet.wallet, "demo.eth")
    names.register("nickname.eth", devnet.wallet)
    yield
    node_rpc.take_back(devnet.url, before)


@pytest.fixture
def on_devnet(devnet: DevnetReady, tmp_path: Path) -> tuple[str, ...]:
    return ("--network", "devnet", "--rpc", devnet.url, "--home", str(tmp_path))


def test_a_name_stands_for_its_address_which_is_told(
    devnet: DevnetReady, on_devnet: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*on_devnet, "--address", "demo.eth", "--json", "balances"]) == DONE

    printed = capsys.readouterr()
    assert json.loads(printed.out)["owner"] == devnet.wallet
    assert printed.err.count("demo.eth") == 1
    assert checksum(devnet.wallet) in printed.err


def test_an_address_that_goes_by_another_name_is_said(
    on_devnet: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*on_devnet, "--address", "nickname.eth", "--json", "balances"]) == DONE
    assert "demo.eth" in capsys.readouterr().err


def test_a_name_nobody_has_reads_nothing(
    on_devnet: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*on_devnet, "--address", "nobody.eth", "positions"]) == FAILED
    assert capsys.readouterr().out == ""


def test_names_need_an_endpoint_of_ethereum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ("--home", str(tmp_path), "--network", "base")

    assert main([*home, "--address", "demo.eth", "positions"]) == USAGE
    assert "[rpc]" in capsys.readouterr().err


def test_a_watched_name_is_kept_as_its_address(
    devnet: DevnetReady, on_devnet: tuple[str, ...], tmp_path: Path
) -> None:
    assert main([*on_devnet, "wallet", "import", "demo.eth"]) == DONE
    assert read_book(Home.locate({}, tmp_path).keystore).current == devnet.wallet


async def test_a_desk_goes_to_a_name_and_says_whose_it_is(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    async with sitting(opening(tmp_path, devnet.url, address=STRANGER)) as desk:
        await desk.ask(UseWallet("nickname.eth"))
        said = await desk.until(Said, lambda told: told.tone == "warn")
        await desk.until(PositionsChanged, lambda told: bool(told.view.rows))

    assert checksum(devnet.wallet) in said.words
    assert "demo.eth" in said.words
