"""Tokens that answer anything, asked over HTTP on a real EVM through the real Multicall3."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chain.base.store import Store
from chain.contracts.abi import encode, selector
from chain.contracts.networks import network_named
from chain.devnet.world.deployment import contract_codes
from chain.rpc.client import RpcClient
from chain.rpc.requests import RequestLimits
from chain.tokens import Token, read_tokens
from tests.chain_view import bare_chain, contracts_at

DEVNET = network_named("devnet")
REVERTING = bytes.fromhex("5f5ffd")
BURNING = bytes.fromhex("fe")  # INVALID takes all the gas it is given
EMPTY_HANDED = bytes.fromhex("00")


def answering(symbol: bytes, decimals: bytes) -> bytes:
    """A contract that returns these bytes to `symbol()` and `decimals()`, and nothing else."""

    def returning(offset: int, size: int) -> bytes:
        length, start = size.to_bytes(3, "big"), offset.to_bytes(3, "big")
        return b"\x5b\x62" + length + b"\x62" + start + b"\x5f\x39\x62" + length + b"\x5f\xf3"

    def jump(signature: str, place: int) -> bytes:
        return b"\x80\x63" + selector(signature) + b"\x14\x61" + place.to_bytes(2, "big") + b"\x57"

    head = 5 + 2 * len(jump("symbol()", 0)) + len(REVERTING)
    body = len(returning(0, 0))
    data = head + 2 * body
    return b"".join(
        (
            bytes.fromhex("5f3560e01c"),
            jump("symbol()", head),
            jump("decimals()", head + body),
            REVERTING,
            returning(data, len(symbol)),
            returning(data + len(symbol), len(decimals)),
            symbol,
            decimals,
        )
    )


def text(symbol: str | bytes, decimals: int = 18) -> bytes:
    return answering(encode(["string"], [symbol]), encode(["uint256"], [decimals]))


@asynccontextmanager
async def chain_with(
    codes: dict[str, bytes], limits: RequestLimits | None = None
) -> AsyncIterator[RpcClient]:
    multicall3 = {DEVNET.contracts.multicall3: contract_codes()["Multicall3"]}
    with bare_chain(contracts_at(multicall3 | codes)) as chain:
        async with RpcClient(DEVNET, [chain.url], limits=limits) as client:
            yield client


async def read(
    codes: dict[str, bytes], *, requests: int, limits: RequestLimits | None = None
) -> dict[str, Token]:
    async with chain_with(codes, limits) as client:
        tokens = await read_tokens(client, DEVNET, codes, "latest", now=0)
        assert client.round_trips <= requests
    return tokens


def addresses(count: int) -> list[str]:
    return [f"0x{place + 1:040x}" for place in range(0x1000, 0x1000 + count)]


async def test_every_odd_token_is_still_a_token_and_all_are_one_request() -> None:
    odd: list[tuple[bytes, str, int | None]] = [
        (text("GMX"), "GMX", 18),
        (answering(b"MKR".ljust(32, b"\0"), encode(["uint8"], [18])), "MKR", 18),
        (text(b"\xff\xfe"), "��", 18),
        (text("", 0), "", 0),
        (text("BIG", 255), "BIG", None),
        (answering(b"", b""), "", None),
        (answering(b"\x01" * 7, b"\x12"), "", None),
        (text("X" * 1_000_000), "X" * 23 + "…", 18),
        (text("\x1b[2J\u202eUSDC"), "[2JUSDC", 18),
        (REVERTING, "", None),
        (EMPTY_HANDED, "", None),
        (b"", "", None),
        (text("LAST", 8), "LAST", 8),
    ]
    places = addresses(len(odd))
    codes = {place: code for place, (code, _, _) in zip(places, odd, strict=True)}
    tokens = await read(codes, requests=1)
    for place, (_, symbol, decimals) in zip(places, odd, strict=True):
        token = tokens[place]
        assert (token.symbol, token.decimals, token.verified) == (symbol, decimals, False), place
        assert token.label.startswith("?")


async def test_tokens_that_burn_all_gas_do_not_take_the_others_along() -> None:
    places = addresses(16)
    codes = {place: text(f"T{number}") for number, place in enumerate(places)}
    for number in (3, 4, 5, 11):
        codes[places[number]] = BURNING
    tokens = await read(codes, requests=60)
    for number, place in enumerate(places):
        expected = "" if number in (3, 4, 5, 11) else f"T{number}"
        assert tokens[place].symbol == expected


async def test_a_token_too_large_to_read_is_left_without_a_name() -> None:
    places = addresses(4)
    codes = {place: text("GOOD") for place in places}
    codes[places[2]] = text("X" * 60_000)
    tokens = await read(codes, requests=60, limits=RequestLimits(answer_bytes=100_000, rounds=1))
    assert [tokens[place].symbol for place in places] == ["GOOD", "GOOD", "", "GOOD"]
    assert tokens[places[2]].decimals == 18


async def test_a_second_reading_asks_for_nothing_new() -> None:
    [place] = addresses(1)
    store = Store.in_memory()
    async with chain_with({place: text("GMX")}) as client:
        first = await read_tokens(client, DEVNET, [place], "latest", store=store, now=0)
        asked = client.round_trips
        again = await read_tokens(client, DEVNET, [place], "latest", store=store, now=0)
        assert client.round_trips == asked == 1
    assert first == again
