"""A real NATS server behind TLS, passwords, nkeys and credentials: who is let in, who is not."""

import asyncio
import base64
import binascii
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from agents.mesh.frame import MOST_FRAME
from agents.mesh.nats_engine import (
    NatsEngine,
    NatsIdentity,
    NatsIdentityError,
    kept_subject,
    read_credentials,
    read_nkey,
    stream_name,
)
from agents.mesh.peers import MEMBER_FILE, Engine, EngineError, Member, Peer, PeerBook, read_member
from tests.agents.mesh.processes import free_ports, is_listening, nats_program
from tests.waiting import HUNG_SECONDS, pauses, wait_until

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(nats_program() is None, reason="no nats-server: make nats-server"),
]
NAME = "scout"
PASSWORD = "p@ss word"
IN_URL = "p%40ss%20word"
PEER = Peer(NAME, "scout", "ab" * 32)
BOOK = PeerBook("test", (PEER,))
NO_STREAMS = dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), 0)
SEED_OF_USER = bytes([0x90 | 160 >> 5, (160 & 31) << 3])


def made_key(number: int) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes([number] * 32))


def encoded(prefix: bytes, raw: bytes) -> str:
    data = prefix + raw
    whole = data + binascii.crc_hqx(data, 0).to_bytes(2, "little")
    return base64.b32encode(whole).decode().rstrip("=")


def seed_of(key: Ed25519PrivateKey) -> str:
    return encoded(SEED_OF_USER, key.private_bytes_raw())


def public_of(prefix: int, key: Ed25519PrivateKey) -> str:
    return encoded(bytes([prefix << 3]), key.public_key().public_bytes_raw())


def write_certificates(folder: Path, authority: str, *names: str) -> None:
    """An authority's certificate, and one by it for each of these names."""
    key = ec.generate_private_key(ec.SECP256R1())
    _write_certificate(folder, authority, key, authority, key)
    for name in names:
        own = ec.generate_private_key(ec.SECP256R1())
        _write_certificate(folder, name, own, authority, key)


def _write_certificate(
    folder: Path,
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    signer: ec.EllipticCurvePrivateKey,
) -> None:
    def called(common: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])

    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(called(name))
        .issuer_name(called(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=name == issuer, path_length=None), critical=True)
    )
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    if name != issuer:
        builder = builder.add_extension(address, critical=False)
    certificate = builder.sign(signer, hashes.SHA256())
    (folder / f"{name}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / f"{name}.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


@contextmanager
def server(folder: Path, settings: str) -> Iterator[int]:
    [port] = free_ports(1)
    config = folder / f"{port}.conf"
    store = folder / f"store-{port}"
    listen = f'listen: "127.0.0.1:{port}"\njetstream {{ store_dir: "{store}" }}\n'
    config.write_text(listen + settings)
    log = folder / f"{port}.log"
    program = nats_program()
    assert program is not None
    running = subprocess.Popen([program, "-c", str(config), "-l", str(log)])
    try:
        wait_until(lambda: running.poll() is not None or is_listening(port))
        assert running.poll() is None, log.read_text() if log.exists() else ""
        yield port
    finally:
        running.kill()
        running.wait()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("nats")
    write_certificates(made, "authority", "server", "member")
    write_certificates(made, "stranger")
    for name, number in (("known", 1), ("unknown", 2)):
        (made / f"{name}.nk").write_text(seed_of(made_key(number)))
    return made


@pytest.fixture(scope="module")
def guarded(folder: Path) -> Iterator[int]:
    """It asks for certificates by its authority, and for a password or a key it knows."""
    tls = (
        f'tls {{ cert_file: "{folder}/server.pem", key_file: "{folder}/server.key", '
        f'ca_file: "{folder}/authority.pem", verify: true }}\n'
    )
    users = (
        f'{{ user: "{NAME}", password: "{PASSWORD}" }}, {{ nkey: "{public_of(20, made_key(1))}" }}'
    )
    with server(folder, f"{tls}authorization {{ users: [{users}] }}\n") as port:
        yield port


def member_of(folder: Path, url: str, **files: str) -> Member:
    """As it is read from a member's folder, where its files are."""
    (folder / MEMBER_FILE).write_text(
        json.dumps({"name": NAME, "engine": "nats", "url": url, **files})
    )
    member = read_member(folder)
    assert member.engine is Engine.NATS
    return member


async def carries(member: Member) -> bool:
    """Whether what is sent, kept or not, comes back to the one it is for."""
    engine = NatsEngine(member, BOOK, PEER, patience=HUNG_SECONDS)
    await engine.open()
    try:
        for keep in (True, False):
            await engine.send(PEER, b"hello", keep=keep)
            async with asyncio.timeout(HUNG_SECONDS):
                if await engine.receive() != (b"hello",):
                    return False
    finally:
        await engine.close()
    return True


@pytest.mark.parametrize("keep", [True, False], ids=["kept", "live"])
async def test_a_message_that_a_server_does_not_take_is_not_called_sent(
    folder: Path, *, keep: bool
) -> None:
    with server(folder, "") as port:
        member = member_of(folder, f"nats://127.0.0.1:{port}")
        engine = NatsEngine(member, BOOK, PEER, patience=HUNG_SECONDS)
        await engine.open()
        try:
            with pytest.raises(EngineError, match="did not take a message"):
                await engine.send(PEER, b"x" * (1 << 24), keep=keep)
        finally:
            await engine.close()


async def test_what_is_closed_keeps_no_connection(folder: Path) -> None:
    with server(folder, "") as port:
        member = member_of(folder, f"nats://127.0.0.1:{port}")
        engine = NatsEngine(member, BOOK, PEER, patience=HUNG_SECONDS)
        await engine.open()
        client = engine._client
        assert client is not None
        assert client.is_connected
        await engine.close()
        assert client.is_closed
        with pytest.raises(EngineError, match="is not connected"):
            await engine.send(PEER, b"x", keep=False)


async def test_what_finds_no_room_is_not_acknowledged_and_comes_again(folder: Path) -> None:
    with server(folder, "") as port:
        member = member_of(folder, f"nats://127.0.0.1:{port}")
        engine = NatsEngine(member, BOOK, PEER, patience=HUNG_SECONDS)
        engine._inbox = asyncio.Queue(1)
        await engine.open()
        try:
            assert engine._stream is not None
            for data in (b"first", b"second"):
                await engine.send(PEER, data, keep=True)
            for pause in pauses():
                [kept] = await engine._stream.consumers_info(stream_name(BOOK.mesh))
                if kept.num_ack_pending == 1 and not kept.num_pending:
                    break
                await asyncio.sleep(pause)
            assert kept.num_ack_pending == 1
            assert await engine.receive() == (b"first",)
            async with asyncio.timeout(HUNG_SECONDS):
                assert await engine.receive() == (b"second",)
        finally:
            await engine.close()


async def test_a_server_keeps_messages_for_ten_minutes_and_no_more_than_it_must(
    folder: Path,
) -> None:
    with server(folder, "") as port:
        member = member_of(folder, f"nats://127.0.0.1:{port}")
        engine = NatsEngine(member, BOOK, PEER, patience=HUNG_SECONDS)
        await engine.open()
        try:
            assert engine._stream is not None
            name = stream_name(BOOK.mesh)
            config = (await engine._stream.stream_info(name)).config
            [consumer] = await engine._stream.consumers_info(name)
            await engine.send(PEER, b"kept", keep=True)
            async with asyncio.timeout(HUNG_SECONDS):
                assert await engine.receive() == (b"kept",)
                # It is acknowledged, so that the server does not deliver it again.
                for pause in pauses():
                    [kept] = await engine._stream.consumers_info(name)
                    if not kept.num_ack_pending:
                        break
                    await asyncio.sleep(pause)
        finally:
            await engine.close()
    assert not kept.num_ack_pending
    assert config.subjects == ["zuno.test.kept.>"]
    assert (config.max_age, config.max_msgs, config.max_msg_size) == (600, 20_000, MOST_FRAME)
    assert consumer.config.filter_subject == kept_subject(BOOK.mesh, PEER)
    assert (consumer.config.ack_wait, consumer.config.max_ack_pending) == (5, 1_000)
    # What a process left behind on the server goes two minutes after it.
    assert consumer.config.inactive_threshold == 120


OWN = {"authority": "authority.pem", "certificate": "member.pem", "certificate_key": "member.key"}


async def test_a_member_with_a_certificate_and_a_password_is_let_in(
    folder: Path, guarded: int
) -> None:
    url = f"tls://{NAME}:{IN_URL}@127.0.0.1:{guarded}"
    member = member_of(folder, url, **OWN)
    assert PASSWORD not in repr(member)
    assert IN_URL not in repr(member)
    assert await carries(member)


async def test_a_member_with_a_key_that_the_server_knows_is_let_in(
    folder: Path, guarded: int
) -> None:
    url = f"nats://127.0.0.1:{guarded}"
    assert await carries(member_of(folder, url, **OWN, nkey="known.nk"))


REFUSED: dict[str, tuple[str, dict[str, str], str]] = {
    "wrong authority": (f"{NAME}:{IN_URL}@", {**OWN, "authority": "stranger.pem"}, "authority"),
    "no certificate": (f"{NAME}:{IN_URL}@", {"authority": "authority.pem"}, "certificate"),
    "certificate of a stranger": (
        f"{NAME}:{IN_URL}@",
        {**OWN, "certificate": "stranger.pem", "certificate_key": "stranger.key"},
        "certificate",
    ),
    "wrong password": (f"{NAME}:wrong@", OWN, "password"),
    "no password": ("", OWN, "password"),
    "unknown key": ("", {**OWN, "nkey": "unknown.nk"}, "nkey"),
    "no such file": ("", {**OWN, "authority": "nowhere.pem"}, "nowhere.pem"),
    "not a seed": ("", {**OWN, "nkey": "member.pem"}, "member.pem"),
}


@pytest.mark.parametrize("what", REFUSED)
async def test_who_is_not_let_in_is_told_why_in_a_sentence(
    what: str, folder: Path, guarded: int
) -> None:
    user, files, named = REFUSED[what]
    member = member_of(folder, f"tls://{user}127.0.0.1:{guarded}", **files)
    with pytest.raises(EngineError) as refused:
        await carries(member)
    words = str(refused.value)
    assert named in words
    assert words.endswith(".")
    assert IN_URL not in words


async def test_a_server_without_tls_is_told_no_password_where_tls_is_wanted(folder: Path) -> None:
    users = f'authorization {{ users: [{{ user: "{NAME}", password: "{PASSWORD}" }}] }}\n'
    with server(folder, users) as port:
        plain = member_of(folder, f"nats://{NAME}:{IN_URL}@127.0.0.1:{port}")
        assert await carries(plain)
        wanting = member_of(folder, f"tls://{NAME}:{IN_URL}@127.0.0.1:{port}")
        engine = NatsEngine(wanting, BOOK, PEER, patience=HUNG_SECONDS)
        with pytest.raises(EngineError) as refused:
            await engine.open()
        assert engine._client is None, "it is closed"
    assert "without TLS" in str(refused.value)


def jwt(claims: dict[str, Any], signer: Ed25519PrivateKey) -> str:
    def part(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).decode().rstrip("=")

    head = part(json.dumps({"typ": "JWT", "alg": "ed25519-nkey"}).encode())
    signed = f"{head}.{part(json.dumps(claims).encode())}"
    return f"{signed}.{part(signer.sign(signed.encode()))}"


async def test_a_member_with_credentials_by_an_account_is_let_in(folder: Path) -> None:
    operator, account, user, system = (made_key(number) for number in (3, 4, 5, 7))
    names = (
        *(public_of(14, operator), public_of(0, account)),
        *(public_of(20, user), public_of(0, system)),
    )

    def claims(issuer: int, subject: int, kind: str, **nats: Any) -> dict[str, Any]:
        about = {"type": kind, "version": 2, **nats}
        head = {"jti": kind, "iat": int(time.time()), "name": kind}
        return {**head, "iss": names[issuer], "sub": names[subject], "nats": about}

    free = dict.fromkeys(
        (
            *("subs", "data", "payload", "imports", "exports", "conn", "leaf"),
            *("mem_storage", "disk_storage", "streams", "consumer"),
        ),
        -1,
    )
    limits = {**free, "wildcards": True}
    of_account = jwt(claims(0, 1, "account", limits=limits), operator)
    of_system = jwt(claims(0, 3, "account", limits={**limits, **NO_STREAMS}), operator)
    of_user = jwt(claims(1, 2, "user", subs=-1, data=-1, payload=-1), account)
    settings = (
        f"operator: {jwt(claims(0, 0, 'operator'), operator)}\nresolver: MEMORY\n"
        f"resolver_preload: {{ {names[1]}: {of_account}, {names[3]}: {of_system} }}\n"
        f"system_account: {names[3]}\n"
    )
    content = (
        f"-----BEGIN NATS USER JWT-----\n{of_user}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed_of(user)}\n------END USER NKEY SEED------\n"
    )
    (folder / "member.creds").write_text(content)
    (folder / "forged.creds").write_text(content.replace(seed_of(user), seed_of(made_key(6))))
    with server(folder, settings) as port:
        url = f"nats://127.0.0.1:{port}"
        assert await carries(member_of(folder, url, credentials="member.creds"))
        with pytest.raises(EngineError, match="credentials"):
            await carries(member_of(folder, url, credentials="forged.creds"))


def test_a_seed_that_was_mistyped_is_noticed(tmp_path: Path) -> None:
    seed = seed_of(made_key(1))
    path = tmp_path / "seed"
    path.write_text(seed)
    assert read_nkey(path).public == public_of(20, made_key(1))
    assert isinstance(read_nkey(path), NatsIdentity)
    path.write_text(seed[:20] + ("A" if seed[20] != "A" else "B") + seed[21:])
    with pytest.raises(NatsIdentityError):
        read_nkey(path)
    with pytest.raises(NatsIdentityError):
        read_credentials(path)


def test_a_seed_is_looked_for_in_the_first_64_kilobytes(tmp_path: Path) -> None:
    path, seed = tmp_path / "seed", seed_of(made_key(1)).encode()
    path.write_bytes(b"\n" * ((1 << 16) - len(seed)) + seed)
    assert read_nkey(path).public == public_of(20, made_key(1))
    path.write_bytes(b"\n" * (1 << 16) + seed)
    with pytest.raises(NatsIdentityError, match="holds no seed"):
        read_nkey(path)
