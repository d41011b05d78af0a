"""A demo's place, its home and its node."""

import os
from argparse import Namespace
from pathlib import Path

import pytest

from chain.base.home import Home
from zuno_tui.app.demo_place import (
    DemoEndedError,
    DemoPlace,
    DemoSlowError,
    at_running_demo,
    genesis_at,
    registered_demo,
    running_demo,
)
from zuno_tui.app.session import name_anvil
from zuno_tui.cli import main
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.settings import Flags, load_settings

GENESIS = "0x" + "ab" * 32
_NO_PROCESS = 2**22 + 1


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home", tmp_path / "cache")
    home.prepare()
    return home


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zuno_tui.app.demo_place.genesis_at", lambda _url: GENESIS)


def _place(pid: int | None = None, genesis: str = GENESIS) -> DemoPlace:
    return DemoPlace(
        os.getpid() if pid is None else pid, "http://127.0.0.1:9", genesis, "0x1", "/d"
    )


def _asked(**named: str) -> Namespace:
    chosen: dict[str, str | None] = {"network": None, "rpc": None, "address": None, "home": None}
    return Namespace(**{**chosen, **named})


@pytest.mark.usefixtures("answering")
def test_it_is_found_while_it_runs_and_not_after(home: Home) -> None:
    with registered_demo(_place(), [home]):
        found = at_running_demo(_asked(), home, {})
        assert found is not None
        there, place = found
        assert (there.network, there.rpc, there.address) == ("devnet", place.url, place.wallet)
        assert str(there.home) == "/d"

    assert at_running_demo(_asked(), home, {}) is None
    assert not list(home.root.glob("demo*"))


@pytest.mark.usefixtures("answering")
@pytest.mark.parametrize("gone", [_place(pid=_NO_PROCESS), _place(genesis="0xcd")])
def test_one_that_was_killed_is_told_of_once_and_removed(home: Home, gone: DemoPlace) -> None:
    with registered_demo(gone, [home]):
        with pytest.raises(DemoEndedError, match="Start it again: zuno demo"):
            at_running_demo(_asked(), home, {})
        assert not list(home.root.glob("demo*"))
        assert at_running_demo(_asked(), home, {}) is None


def test_a_demo_that_is_slow_stays_found_and_nobody_goes_elsewhere(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([None, GENESIS])
    monkeypatch.setattr("zuno_tui.app.demo_place.genesis_at", lambda _url: next(answers))
    with registered_demo(_place(), [home]):
        with pytest.raises(DemoSlowError, match="The demo is slow"):
            at_running_demo(_asked(), home, {})
        assert at_running_demo(_asked(), home, {}) is not None


@pytest.mark.usefixtures("answering")
def test_what_a_person_chose_comes_first(home: Home) -> None:
    with registered_demo(_place(), [home]):
        assert at_running_demo(_asked(network="base"), home, {}) is None
        assert at_running_demo(_asked(network="devnet"), home, {}) is not None
        assert at_running_demo(_asked(), home, {"ZUNO_RPC": "http://x"}) is None
        home.settings.write_text('network = "base"\n', "utf-8")
        assert at_running_demo(_asked(), home, {}) is None


@pytest.mark.usefixtures("answering")
@pytest.mark.parametrize(
    "written",
    ['unit = "ETH"', "[limits]\ndaily_usd = 5000", '[monitor.positions."3:7"]\nnear_edge = 0.1'],
)
def test_a_setting_that_names_no_network_leaves_the_demo_where_it_is(
    home: Home, written: str
) -> None:
    home.settings.write_text(f"{written}\n", "utf-8")
    with registered_demo(_place(), [home]):
        assert at_running_demo(_asked(), home, {}) is not None


@pytest.mark.usefixtures("answering")
@pytest.mark.parametrize(
    "written",
    [
        '[rpc]\nethereum = "https://example.org"',
        '[send]\nethereum = "https://example.org"',
        f'address = "0x{"ab" * 20}"',
        "[monitor.networks.base]\nnear_edge = 0.1",
        '[monitor.positions."base:7"]\nnear_edge = 0.1',
        '[rcp]\nethereum = "https://example.org"',
        "not toml at all",
    ],
)
def test_a_home_that_may_name_a_network_is_never_taken_to_the_demo(
    home: Home, written: str
) -> None:
    home.settings.write_text(f"{written}\n", "utf-8")
    with registered_demo(_place(), [home]):
        assert at_running_demo(_asked(), home, {}) is None


@pytest.mark.usefixtures("answering")
def test_a_second_demo_does_not_hide_the_first_and_is_found_by_its_own_home(
    home: Home, tmp_path: Path
) -> None:
    own = Home(tmp_path / "its own", tmp_path / "cache")
    own.prepare()
    second = DemoPlace(os.getpid(), "http://127.0.0.1:10", GENESIS, "0x2", str(own.root))
    with registered_demo(_place(), [home]) as first_command:
        with registered_demo(second, [home, own]) as second_command:
            assert running_demo(home) == _place()
            assert running_demo(own) == second
        assert running_demo(home) == _place()
        assert running_demo(own) is None

    assert (first_command, second_command) == ("zuno", f"zuno --home '{own.root}'")
    with registered_demo(second, [home, own]) as command:
        assert (command, running_demo(home)) == ("zuno", second)


@pytest.mark.usefixtures("answering")
@pytest.mark.parametrize("gone", [_place(pid=_NO_PROCESS), _place(genesis="0xcd")])
def test_one_that_was_killed_makes_room_for_the_next(home: Home, gone: DemoPlace) -> None:
    with registered_demo(gone, [home]), registered_demo(_place(), [home]) as command:
        assert (command, running_demo(home)) == ("zuno", _place())


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "https://example.org", "http://10.0.0.1:1"])
def test_only_an_answer_from_this_machine_counts(url: str) -> None:
    assert genesis_at(url) is None


def test_a_damaged_file_is_no_demo(home: Home) -> None:
    (home.root / "demo.json").write_text('{"pid": "x"', "utf-8")

    assert running_demo(home) is None


_HUNG_UP = 129


@pytest.mark.parametrize(("code", "stays"), [(DONE, False), (_HUNG_UP, False), (FAILED, True)])
def test_only_a_crash_leaves_its_home_behind(
    code: int, stays: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def desk(home: Home, *_: object) -> int:
        home.log.write_text("where it happened", "utf-8")
        return code

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("zuno_tui.cli.demo.no_desk_here", lambda: None)
    monkeypatch.setattr("zuno_tui.screen.app.running.run_desk", desk)

    assert main(["demo"]) == code
    left = [log.read_text("utf-8") for log in tmp_path.glob("zuno-run-demo-*/*/desk.log")]
    assert left == (["where it happened"] if stays else [])
    assert len(list(tmp_path.iterdir())) == stays


@pytest.mark.parametrize(
    ("shell", "found"), [({}, "/opt/anvil"), ({"ZUNO_ANVIL": "/mine"}, "/mine")]
)
def test_the_named_node_is_used(tmp_path: Path, shell: dict[str, str], found: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('[demo]\nanvil = "/opt/anvil"\n', "utf-8")
    environment = dict(shell)

    name_anvil(load_settings(file, environment, Flags()), environment)

    assert environment["ZUNO_ANVIL"] == found
