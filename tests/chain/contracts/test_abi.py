"""The ABI codec against eth_abi in both directions, and against data made to hurt."""

import tracemalloc
from typing import Any

import eth_abi.abi
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chain.contracts import abi
from chain.contracts.abi import AbiError

ELEMENTARY = ["bool", "address", "bytes", "string", "uint8", "uint24", "uint128", "uint256"]
ELEMENTARY += ["int8", "int24", "int128", "int256", "bytes1", "bytes4", "bytes25", "bytes32"]

type_names = st.recursive(
    st.sampled_from(ELEMENTARY),
    lambda inner: st.one_of(
        inner.map(lambda name: name + "[]"),
        st.builds(lambda name, count: f"{name}[{count}]", inner, st.integers(1, 3)),
        st.lists(inner, min_size=1, max_size=4).map(lambda names: f"({','.join(names)})"),
    ),
    max_leaves=6,
)


def members(name: str) -> list[str]:
    return list(abi._split(name[1:-1]))


def values_of(name: str) -> st.SearchStrategy[Any]:
    if name.endswith("]"):
        member, _, count = name[:-1].rpartition("[")
        low, high = (int(count), int(count)) if count else (0, 4)
        return st.lists(values_of(member), min_size=low, max_size=high).map(tuple)
    if name.startswith("("):
        return st.tuples(*(values_of(member) for member in members(name)))
    if name.startswith("uint"):
        return st.integers(0, 2 ** int(name[4:]) - 1)
    if name.startswith("int"):
        half = 2 ** (int(name[3:]) - 1)
        return st.integers(-half, half - 1)
    if name == "bool":
        return st.booleans()
    if name == "address":
        return st.binary(min_size=20, max_size=20).map(lambda raw: "0x" + raw.hex())
    if name == "string":
        return st.text(max_size=70).map(str.encode)
    if name == "bytes":
        return st.binary(max_size=70)
    return st.binary(min_size=int(name[5:]), max_size=int(name[5:]))


def for_eth_abi(name: str, value: Any) -> Any:
    """The same value as eth_abi takes and gives it: its strings are text, ours stay bytes."""
    if name.endswith("]"):
        member = name[:-1].rpartition("[")[0]
        return tuple(for_eth_abi(member, item) for item in value)
    if name.startswith("("):
        return tuple(
            for_eth_abi(member, item) for member, item in zip(members(name), value, strict=True)
        )
    return value.decode() if name == "string" else value


@st.composite
def typed_values(draw: st.DrawFn) -> tuple[list[str], list[Any]]:
    names = draw(st.lists(type_names, min_size=1, max_size=4))
    return names, [draw(values_of(name)) for name in names]


@given(typed_values())
@settings(max_examples=150, deadline=None)
def test_agrees_with_eth_abi_both_ways(case: tuple[list[str], list[Any]]) -> None:
    names, values = case
    theirs = eth_abi.abi.encode(
        names, [for_eth_abi(name, value) for name, value in zip(names, values, strict=True)]
    )
    assert abi.encode(names, values) == theirs
    assert abi.decode(names, theirs) == tuple(values)


@given(typed_values(), st.data())
@settings(max_examples=150, deadline=None)
def test_damaged_data_is_refused_or_still_canonical(
    case: tuple[list[str], list[Any]], data: st.DataObject
) -> None:
    names, values = case
    damaged = bytearray(abi.encode(names, values))
    for _ in range(data.draw(st.integers(1, 3))):
        if not damaged:
            break
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(damaged)))
    raw = bytes(damaged[:cut]) if data.draw(st.booleans()) else bytes(damaged)
    try:
        decoded = abi.decode(names, raw)
    except AbiError:
        return
    assert abi.encode(names, decoded) == raw


@given(st.lists(type_names, min_size=1, max_size=3), st.binary(max_size=400))
@settings(max_examples=150, deadline=None)
def test_noise_never_raises_anything_but_abi_error(names: list[str], noise: bytes) -> None:
    try:
        decoded = abi.decode(names, noise)
    except AbiError:
        return
    assert abi.encode(names, decoded) == noise


def word(value: int) -> bytes:
    return value.to_bytes(32, "big")


@pytest.mark.parametrize(
    ("names", "data"),
    [
        (["uint256"], b""),
        (["uint256"], bytes(31)),
        (["uint256"], bytes(33)),
        (["uint8"], word(256)),
        (["int24"], word(2**23)),
        (["int24"], word(2**24 - 1)),
        (["bool"], word(2)),
        (["address"], word(2**160)),
        (["bytes4"], b"\1" * 4 + bytes(27) + b"\1"),
        (["bytes"], word(0)),
        (["bytes"], word(2**255) + word(0)),
        (["bytes"], word(64) + word(0) + word(0)),
        (["bytes"], word(32) + word(2**256 - 1)),
        (["bytes"], word(32) + word(33) + bytes(32)),
        (["bytes"], word(32) + word(1) + b"\1"),
        (["bytes"], word(32) + word(1) + b"\1\1" + bytes(30)),
        (["uint256[]"], word(32) + word(2**255)),
        (["uint256[]"], word(32) + word(2) + word(1)),
        (["bytes[]"], word(32) + word(2**64)),
        (["bytes[]"], word(32) + word(1) + word(0)),
    ],
)
def test_refuses(names: list[str], data: bytes) -> None:
    with pytest.raises(AbiError):
        abi.decode(names, data)


def test_offsets_that_share_a_tail_cannot_unfold_into_gigabytes() -> None:
    count, length = 20_000, 600_000
    offsets = word(count * 32) * count
    bomb = word(32) + word(count) + offsets + word(length) + bytes(length)
    tracemalloc.start()
    with pytest.raises(AbiError):
        abi.decode(["bytes[]"], bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("uint8", 256),
        ("uint8", -1),
        ("int24", 2**23),
        ("uint256", True),
        ("uint256", "1"),
        ("bool", 1),
        ("address", "0x12"),
        ("address", "0x" + "g" * 40),
        ("address", "0x" + "1 " * 20),
        ("bytes4", b"abc"),
        ("bytes", "text"),
        ("uint256[]", 7),
        ("(uint256,bool)", (1,)),
        ("uint256[2]", [1]),
    ],
)
def test_values_that_do_not_fit_are_refused(name: str, value: object) -> None:
    with pytest.raises(AbiError):
        abi.encode([name], [value])


@pytest.mark.parametrize(
    "name", ["", "uint", "uint7", "bytes33", "uint256[0]", "()", "(uint256", "x"]
)
def test_unknown_types_are_refused(name: str) -> None:
    with pytest.raises(AbiError):
        abi.decode([name], bytes(32))


def test_known_calls() -> None:
    assert abi.selector("extsload(bytes32[])").hex() == "dbd035ff"
    call = abi.encode_call("transfer(address,uint256)", "0x" + "AB" * 20, 5)
    assert call.hex() == "a9059cbb" + "00" * 12 + "ab" * 20 + "00" * 31 + "05"
    assert abi.encode_call("decimals()").hex() == "313ce567"
    assert abi.topic("Transfer(address,address,uint256)") == (
        "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    )
