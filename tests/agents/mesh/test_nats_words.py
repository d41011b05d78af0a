"""How a member reaches a NATS server, and what is said of every way in which it cannot."""

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.mesh.nats_engine import (
    NatsEngine,
    NatsIdentity,
    NatsIdentityError,
    access_options,
    identity_of,
    is_final,
    read_credentials,
    read_nkey,
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


async def test_a_server_that_nobody_runs_is_said_to_be_so() -> None:
    engine = NatsEngine(member("nats://127.0.0.1:1"), BOOK, ME, patience=0.5)
    with pytest.raises(EngineError, match="nothing listens there"):
        await engine.open()
    assert engine._client is None, "it is closed"


def test_certificates_that_cannot_be_read_are_named_with_why(tmp_path: Path) -> None:
    lacking = member(authority=str(tmp_path / "ca.pem"))
    with pytest.raises(EngineError, match=r"ca\.pem\): No such file or directory"):
        access_options(lacking, None)
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(EngineError, match=r"ca\.pem\): "):
        access_options(lacking, None)


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
