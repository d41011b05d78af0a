"""The passport of a hook: every permission pattern, and the proxies its code may be."""

import pytest

from chain.contracts.addresses import keccak
from chain.contracts.hooks import (
    NO_HOOK,
    Danger,
    Permission,
    ProxyKind,
    find_proxy,
    hook_passport,
    permissions_of,
)
from chain.contracts.pool_key import DYNAMIC_FEE

# The order in which Uniswap's Hooks.sol lists its flags, highest bit first.
SOLIDITY_ORDER = (
    "BEFORE_INITIALIZE",
    "AFTER_INITIALIZE",
    "BEFORE_ADD_LIQUIDITY",
    "AFTER_ADD_LIQUIDITY",
    "BEFORE_REMOVE_LIQUIDITY",
    "AFTER_REMOVE_LIQUIDITY",
    "BEFORE_SWAP",
    "AFTER_SWAP",
    "BEFORE_DONATE",
    "AFTER_DONATE",
    "BEFORE_SWAP_RETURNS_DELTA",
    "AFTER_SWAP_RETURNS_DELTA",
    "AFTER_ADD_LIQUIDITY_RETURNS_DELTA",
    "AFTER_REMOVE_LIQUIDITY_RETURNS_DELTA",
)


def at(bits: int, prefix: str = "abab") -> str:
    return "0x" + f"{int(prefix.ljust(40, '0'), 16) | bits:040x}"


def test_every_pattern_of_permissions_is_read_right() -> None:
    for pattern in range(1 << 14):
        set_bits = f"{pattern:014b}"
        expected = {name for name, bit in zip(SOLIDITY_ORDER, set_bits, strict=True) if bit == "1"}
        passport = hook_passport(at(pattern), 3000)
        assert {flag.name for flag in Permission if flag in passport.permissions} == expected
        exit_refused = bool({"BEFORE_REMOVE_LIQUIDITY", "AFTER_REMOVE_LIQUIDITY"} & expected)
        assert passport.can_refuse_exit is exit_refused
        assert passport.can_tax_exit is ("AFTER_REMOVE_LIQUIDITY_RETURNS_DELTA" in expected)
        assert passport.can_tax_entry is ("AFTER_ADD_LIQUIDITY_RETURNS_DELTA" in expected)
        assert passport.can_hold_swaps is ("BEFORE_SWAP_RETURNS_DELTA" in expected)
        red = pattern & 0b11_0000_1011
        assert (passport.danger is Danger.DANGEROUS) is bool(red)
        assert ("It can stop you from taking liquidity out." in passport.sentences) is exit_refused


def test_the_bits_above_the_fourteenth_mean_nothing() -> None:
    assert permissions_of("0x" + "f" * 36 + "c000") == Permission(0)
    assert permissions_of("0x" + "f" * 40) == Permission((1 << 14) - 1)


def test_a_pool_without_a_hook_is_plain() -> None:
    passport = hook_passport(NO_HOOK, 3000, b"")
    assert not passport.present
    assert passport.danger is Danger.NONE
    assert passport.sentences == ("This pool has no hook.",)
    assert passport.code is None


def test_a_hook_changes_the_fee_only_of_a_dynamic_pool() -> None:
    hook = at(1 << 12)
    assert hook_passport(hook, DYNAMIC_FEE).can_change_fee
    assert hook_passport(hook, DYNAMIC_FEE).danger is Danger.CAUTION
    assert not hook_passport(hook, 3000).can_change_fee
    assert hook_passport(hook, 3000).danger is Danger.NONE
    assert hook_passport(hook, 3000).sentences == ("It can do nothing to this pool.",)


@pytest.mark.parametrize("bit", [2, 6, 7, 10, 11])
def test_meddling_with_swaps_or_entry_asks_for_caution(bit: int) -> None:
    assert hook_passport(at(1 << bit), 3000).danger is Danger.CAUTION


def erc1967_slot(name: bytes) -> str:
    """EIP-1967 takes one from the hash, so that no mapping can land on the slot."""
    return f"{int.from_bytes(keccak(name), 'big') - 1:064x}"


TARGET = "0x" + "be" * 20
PLAIN_CODE = bytes.fromhex("6080604052600436106100")


@pytest.mark.parametrize(
    ("code", "kind", "target"),
    [
        (
            "363d3d373d3d3d363d73" + TARGET[2:] + "5af43d82803e903d91602b57fd5bf3",
            ProxyKind.MINIMAL,
            TARGET,
        ),
        ("ef0100" + TARGET[2:], ProxyKind.ACCOUNT, TARGET),
        (
            "60807f" + erc1967_slot(b"eip1967.proxy.implementation") + "54f4",
            ProxyKind.UPGRADEABLE,
            None,
        ),
        ("60807f" + keccak(b"PROXIABLE").hex() + "54f4", ProxyKind.UPGRADEABLE, None),
        ("60807f" + erc1967_slot(b"eip1967.proxy.beacon") + "54f4", ProxyKind.BEACON, None),
    ],
)
def test_proxies_are_recognised_by_their_code(
    code: str, kind: ProxyKind, target: str | None
) -> None:
    proxy = find_proxy(bytes.fromhex(code))
    assert proxy is not None
    assert (proxy.kind, proxy.target) == (kind, target)
    passport = hook_passport(at(1 << 12), 3000, bytes.fromhex(code))
    assert passport.danger is Danger.CAUTION, "what it does can change, what it may do cannot"
    assert len(passport.sentences) == 2


@pytest.mark.parametrize(
    "code",
    [
        b"",
        PLAIN_CODE,
        bytes.fromhex("363d3d373d3d3d363d73" + TARGET[2:]),
        bytes.fromhex("ef0100" + TARGET[2:] + "00"),
    ],
)
def test_other_code_is_no_proxy(code: bytes) -> None:
    assert find_proxy(code) is None


def test_the_code_is_pinned_by_its_hash() -> None:
    code = hook_passport(at(1 << 9), 3000, PLAIN_CODE).code
    assert code is not None
    assert code.code_hash == "0x" + keccak(PLAIN_CODE).hex()
    assert not code.empty


def test_a_hook_without_code_is_told() -> None:
    passport = hook_passport(at(1 << 9), 3000, b"")
    assert passport.code is not None
    assert passport.code.empty
    assert "There is no code at its address" in passport.sentences[-1]
