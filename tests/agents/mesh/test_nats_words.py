"""How a member reaches a NATS server, and what is said of every way in which it cannot."""

from __future__ import annotations

import ssl

import pytest

from agents.mesh.nats_engine import (
    NatsEngine,
    access_options,
    is_final,
    kept_subject,
    live_subject,
    stream_name,
    trouble_words,
    wants_tls,
)
from agents.mesh.peers import Engine, EngineError, Member, Peer, PeerBook
from tests.fakes.small_debate import SCOUT

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
