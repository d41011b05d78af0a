"""How a member reaches a NATS server, and what is said of every way in which it cannot."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest

from agents.mesh.nats_engine import (
    NatsEngine,
    NatsIdentity,
    NatsIdentityError,
    access_options,
    identity_of,
    is_final,
    kept_subject,
    live_subject,
    read_credentials,
    read_nkey,
    stream_name,
    trouble_words,
    wants_tls,
)
from agents.mesh.peers import Engine, EngineError, Member, Peer, PeerBook
from tests.fakes.small_debate import SCOUT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ME = Peer("scout", SCOUT, "ab" * 32)
BOOK = PeerBook("my-mesh", (ME,))


def member(url: str = "nats://10.0.0.1:4222", **files: str) -> Member:
    return Member("scout", Engine.NATS, url, **files)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "tls"),
    [
        (member(), False),
        (member("tls://10.0.0.1"), True),
        (member(authority="ca.pem"), True),
        (member(certificate="me.pem", certificate_key="me.key"), True),
        (member(authority="ca.pem", certificate="me.pem"), True),
        (member(nkey="user.nk"), False),
    ],
)
def test_any_sign_of_tls_asks_for_it(given: Member, *, tls: bool) -> None:
    assert wants_tls(given) is tls


@pytest.mark.parametrize(
    ("url", "server", "user", "password"),
    [
        ("nats://10.0.0.1:4222", "nats://10.0.0.1:4222", None, None),
        ("nats://mesh.example", "nats://mesh.example", None, None),
        ("nats://[2001:db8::1]:4222", "nats://[2001:db8::1]:4222", None, None),
        ("nats://me:p%40ss%3Aword@host:1", "nats://host:1", "me", "p@ss:word"),
        ("nats://m%20e@host:1", "nats://host:1", "m e", ""),
    ],
)
def test_an_address_is_named_without_who_connects(
    url: str, server: str, user: str | None, password: str | None
) -> None:
    options = access_options(member(url), None)
    assert options["servers"] == [server]
    assert (options.get("user"), options.get("password")) == (user, password)
    assert "tls" not in options
    assert "signature_cb" not in options


@pytest.mark.parametrize(
    ("error", "says_who", "final"),
    [
        (BrokenPipeError(), True, True),
        (ConnectionResetError(), True, True),
        (BrokenPipeError(), False, False),
        (ConnectionResetError(), False, False),
        (ConnectionRefusedError(), True, False),
        (TimeoutError(), True, False),
        (RuntimeError("nats: 'Authorization Violation'"), False, True),
        (RuntimeError("nats: the server speaks without TLS"), False, True),
        (ssl.SSLError(), False, True),
    ],
)
def test_only_what_another_try_cannot_change_ends_the_trying(
    error: Exception, *, says_who: bool, final: bool
) -> None:
    assert is_final(error, says_who=says_who) is final


@pytest.mark.parametrize(
    ("error", "says_who", "words"),
    [
        (ssl.SSLCertVerificationError(), False, "not by an authority this member trusts"),
        (ssl.SSLError(), False, "ends the TLS connection (no reason given)"),
        (RuntimeError("nats: the server speaks without TLS"), False, "Nothing was sent."),
        (RuntimeError("Authorization Violation"), False, "does not let this member in"),
        (BrokenPipeError(), True, "does not let this member in"),
        (BrokenPipeError(), False, "cannot be used (BrokenPipeError)"),
        (ConnectionRefusedError(), False, "nothing listens there"),
        (TimeoutError(), False, "does not answer in time"),
        (TimeoutError(), True, "does not answer in time"),
        (ValueError("secret"), True, "cannot be used (ValueError)"),
    ],
)
def test_each_trouble_is_told_by_what_helps(
    error: Exception, words: str, *, says_who: bool
) -> None:
    if isinstance(error, ssl.SSLCertVerificationError):
        error.verify_message = "self-signed"
    elif isinstance(error, ssl.SSLError):
        error.reason = ""
    told = trouble_words(error, says_who=says_who)
    assert told.startswith("The NATS server")
    assert words in told
    assert "secret" not in told


def test_subjects_name_the_mesh_the_way_the_role_and_the_key() -> None:
    assert live_subject("my-mesh", ME) == f"zuno.my-mesh.live.scout.{ME.key}"
    assert kept_subject("my-mesh", ME) == f"zuno.my-mesh.kept.scout.{ME.key}"
    assert stream_name("my-mesh") == "ZUNO_MY_MESH"


@pytest.mark.parametrize("keep", [True, False])
async def test_before_it_is_connected_nothing_is_called_sent(*, keep: bool) -> None:
    engine = NatsEngine(member(), BOOK, ME)
    assert engine.broken == ""
    with pytest.raises(EngineError, match="is not connected"):
        await engine.send(ME, b"x", keep=keep)
    await engine.close()


async def test_a_server_that_nobody_runs_is_said_to_be_so() -> None:
    engine = NatsEngine(member("nats://127.0.0.1:1"), BOOK, ME, patience=0.5)
    with pytest.raises(EngineError, match="nothing listens there"):
        await engine.open()
    assert engine._client is None, "it is closed"


async def test_what_a_client_is_told_to_do_by_itself() -> None:
    engine = NatsEngine(member(), BOOK, ME)
    told = {name: value for name, value in engine._options().items() if not callable(value)}
    assert told == {
        "name": "zuno scout",
        "connect_timeout": 2.0,
        "allow_reconnect": True,
        "max_reconnect_attempts": -1,
        "reconnect_time_wait": 0.5,
        "ping_interval": 10,
    }
    assert engine._inbox.maxsize == 4_096


class Recorder:
    """A client and its stream, of which only what is published is looked at."""

    is_connected = True

    def __init__(self) -> None:
        self.published: list[tuple[str, bytes, float | None]] = []
        self._server_info = {"auth_required": True}

    async def publish(self, subject: str, data: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        self.published.append((subject, data, timeout))


async def test_what_must_not_be_lost_is_published_to_the_stream_within_two_seconds() -> None:
    engine, client, stream = NatsEngine(member(), BOOK, ME), Recorder(), Recorder()
    engine._client, engine._stream = client, stream  # type: ignore[assignment]
    await engine.send(ME, b"kept", keep=True)
    await engine.send(ME, b"live", keep=False)
    assert stream.published == [(kept_subject("my-mesh", ME), b"kept", 2.0)]
    assert client.published == [(live_subject("my-mesh", ME), b"live", None)]
    client.is_connected = False
    with pytest.raises(EngineError, match="is broken"):
        await engine.send(ME, b"x", keep=False)


@pytest.mark.parametrize(
    ("asks_who", "was_let_in", "refused"),
    [(True, False, True), (True, True, False), (False, False, False), (False, True, False)],
)
async def test_a_connection_that_breaks_is_a_refusal_only_while_one_says_who_one_is(
    *, asks_who: bool, was_let_in: bool, refused: bool
) -> None:
    engine, client = NatsEngine(member(), BOOK, ME), Recorder()
    engine._client = client  # type: ignore[assignment]
    client._server_info = {"auth_required": asks_who}
    engine._stream = Recorder() if was_let_in else None  # type: ignore[assignment]
    await engine._troubled(BrokenPipeError())
    assert engine._refused.is_set() is refused
    assert ("does not let this member in" in engine.broken) is refused


def test_certificates_that_cannot_be_read_are_named_with_why(tmp_path: Path) -> None:
    lacking = member(authority=str(tmp_path / "ca.pem"))
    with pytest.raises(EngineError, match=r"ca\.pem\): No such file or directory"):
        access_options(lacking, None)
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(EngineError, match=r"ca\.pem\): "):
        access_options(lacking, None)


async def test_without_its_package_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lacking(_: Member) -> None:
        raise ModuleNotFoundError("nats")

    monkeypatch.setattr("agents.mesh.nats_engine.client_of", lacking)
    with pytest.raises(EngineError, match="pip install"):
        await NatsEngine(member(), BOOK, ME).open()


@pytest.mark.parametrize("read", [read_nkey, read_credentials])
def test_a_file_that_is_not_there_is_named(
    read: Callable[[Path], NatsIdentity], tmp_path: Path
) -> None:
    with pytest.raises(NatsIdentityError, match=r"user\.nk cannot be read: No such file"):
        read(tmp_path / "user.nk")
    identity = {"nkey": "user.nk", "credentials": "user.creds"}
    for field, name in identity.items():
        with pytest.raises(EngineError, match="cannot be read"):
            identity_of(member(**{field: str(tmp_path / name)}))
    assert identity_of(member()) is None
