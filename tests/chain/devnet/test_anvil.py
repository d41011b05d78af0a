"""Anvil: which program is taken, and what is said where there is none or it does not start."""

import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from chain.devnet import anvil, process
from chain.devnet.anvil import (
    AddressTakenError,
    AnvilError,
    LockedPackage,
    bundled_lock,
    find_anvil,
    running_anvil,
)
from chain.devnet.json_rpc import NodeClient, NodeError, NodeRefusedError
from tests.waiting import HUNG_SECONDS

LISTENING = "Listening on 127.0.0.1:4711"


def program(folder: Path, script: str, name: str = "anvil") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_a_named_program_goes_before_one_on_the_path_and_that_before_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, on_path = program(tmp_path / "a", "", "mine"), program(tmp_path / "b", "")
    paths = {"PATH": str(on_path.parent)}
    assert find_anvil(paths | {"ZUNO_ANVIL": str(named)}).command == (str(named),)
    assert find_anvil(paths).command == (str(on_path),)
    monkeypatch.setattr(anvil, "ensure_package", lambda package, _: tmp_path / package.version)
    monkeypatch.setattr(anvil, "_platform", lambda: "linux-amd64")
    package = bundled_lock().anvil_for("linux-amd64")
    assert package is not None
    found = find_anvil({"PATH": ""})
    assert found.command == (str(tmp_path / package.version / "anvil"),)
    assert found.origin == package.title


def test_a_named_program_that_is_none_is_said(tmp_path: Path) -> None:
    with pytest.raises(AnvilError, match=r"ZUNO_ANVIL names .*nothing, which is no program"):
        find_anvil({"ZUNO_ANVIL": str(tmp_path / "nothing")})


def test_a_platform_without_a_package_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(anvil, "_platform", lambda: "plan9-mips")
    with pytest.raises(AnvilError, match=r"plan9-mips whose hash is known\. Install Foundry"):
        find_anvil({"PATH": ""})


@pytest.mark.parametrize("qemu", [None, "/usr/bin/qemu-x86_64-static"])
def test_where_arm_has_no_package_that_of_amd_runs_under_qemu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qemu: str | None
) -> None:
    def ensure(package: LockedPackage, _: object) -> Path:
        assert "amd64" in package.name
        return tmp_path

    monkeypatch.setattr(anvil, "_platform", lambda: "linux-arm64")
    monkeypatch.setattr(anvil, "ensure_package", ensure)
    monkeypatch.setattr(shutil, "which", lambda name, **_: qemu if "qemu" in name else None)
    if qemu is None:
        with pytest.raises(AnvilError, match=r"whose hash is known.*apt-get install qemu"):
            find_anvil({"PATH": ""})
    else:
        found = find_anvil({"PATH": ""})
        assert found.command[0] == qemu
        assert found.command[-1] == str(tmp_path / "anvil")
        assert found.origin.endswith("under qemu")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'Error: the disk is full'; exit 7", "ended with code 7. It said: Error: the disk"),
        ("kill -9 $$", "ended by signal 9"),
        ("exec sleep 60", "ended by signal 9"),
    ],
    ids=["an error", "killed", "silence"],
)
def test_a_start_that_fails_is_explained(tmp_path: Path, script: str, words: str) -> None:
    environment = {"ZUNO_ANVIL": str(program(tmp_path, script))}
    with (
        pytest.raises(AnvilError, match=f"did not start.*{words}"),
        running_anvil(environment=environment, start_seconds=0.5),
    ):
        pass


def test_a_program_that_cannot_be_run_is_said(tmp_path: Path) -> None:
    path = tmp_path / "anvil"
    path.write_bytes(b"\x7fELF of another machine")
    path.chmod(0o755)
    with (
        pytest.raises(AnvilError, match="cannot be started"),
        running_anvil(environment={"ZUNO_ANVIL": str(path)}),
    ):
        pass


def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(AddressTakenError, match=r"did not start\. .*already in use"),
            running_anvil(port=port),
        ):
            pass


@pytest.mark.parametrize(("port", "starts", "code"), [(0, 3, 0), (4711, 1, 1)], ids=["any", "one"])
def test_a_port_taken_meanwhile_is_changed_for_another_unless_it_was_asked_for(
    port: int,
    starts: int,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tried: list[int] = []

    @contextmanager
    def taken_twice(*_: object, port: int, **__: object) -> Iterator[SimpleNamespace]:
        tried.append(port)
        if len(tried) < 3:
            raise AddressTakenError("Anvil did not start. Address already in use")
        yield SimpleNamespace(node=None)

    monkeypatch.setattr(process, "opened_world", taken_twice)
    monkeypatch.setattr(process, "place_v3", lambda *_: None)
    # Whether it is free is looked at before: here it is, whoever has it on this machine.
    monkeypatch.setattr(process, "_control_beside", lambda _port: process.ControlServer(0))
    assert process.run(port=port, build_only=True) == code
    assert len(tried) == starts
    assert ("already in use" in capsys.readouterr().err) is (code == 1)


def test_one_that_ignores_its_end_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anvil, "_STOP_SECONDS", 0.1)
    script = f"trap '' TERM\necho '{LISTENING}'\nwhile :; do sleep 1; done"
    with running_anvil(environment={"ZUNO_ANVIL": str(program(tmp_path, script))}) as node:
        assert node.url == "http://127.0.0.1:4711"
        assert node.why_ended() is None
    assert node.why_ended() == "It was ended by signal 9."


def test_a_node_answers_in_order_and_says_why_it_refuses() -> None:
    ended = threading.Event()
    with running_anvil(("--accounts", "0")) as node, NodeClient(node.url) as client:
        node.when_ended(ended.set)
        calls = [("anvil_mine", ("0x1",)), ("eth_blockNumber", ())] * 100
        assert client.ask_all(calls)[1::2] == [hex(number + 1) for number in range(100)]
        with pytest.raises(NodeRefusedError) as refused:
            client.ask("eth_nothing")
        assert refused.value.code == -32601
        assert client.ask_number("eth_chainId") == 31337
        with pytest.raises(NodeError, match="no object"):
            client.ask_fields("eth_chainId")
        os.kill(node.pid, 9)
        assert ended.wait(HUNG_SECONDS)
        assert node.has_ended_within(HUNG_SECONDS)
        with pytest.raises(NodeError, match="does not answer"):
            client.ask("eth_chainId")


def test_states_of_past_blocks_go_with_the_node_and_never_below_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, scratch = tmp_path / "home", tmp_path / "scratch"
    for folder in (home, scratch):
        folder.mkdir()
    found = str(find_anvil(os.environ).command[-1])
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    with (
        running_anvil(("--accounts", "0"), environment={"ZUNO_ANVIL": found}) as node,
        NodeClient(node.url) as client,
    ):
        client.ask_all([("evm_mine", ())] * 600)
        assert list(scratch.glob("zuno-run-anvil-*/home/*/*.json"))
        assert client.ask_number("eth_getBalance", "0x" + "11" * 20, "0x1") == 0
    assert list(scratch.iterdir()) == []
    assert list(home.rglob("*.json")) == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "does not answer: it closed the connection"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno", "no JSON-RPC"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}", "closed the connection"),
        (b"x" * 20_000, "no HTTP"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "has no length"),
    ],
    ids=["nothing", "no JSON", "half", "no HTTP", "no length"],
)
def test_what_is_no_node_is_said(answer: bytes, words: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with NodeClient(url, patience=5) as client, pytest.raises(NodeError, match=words):
            client.ask("eth_chainId")
