"""What a pool's hook may do, by its address, and whether its code can be replaced.

Uniswap v4 keeps a hook's permissions in the low 14 bits of its address, so they can never change.
What the hook does with them can, when its code is a proxy.
"""

from enum import IntFlag, StrEnum

from msgspec import Struct

from chain.contracts.addresses import keccak
from chain.contracts.networks import NATIVE, Address
from chain.contracts.pool_key import DYNAMIC_FEE

NO_HOOK: Address = NATIVE

_PERMISSION_BITS = 14


class Permission(IntFlag):
    """The callbacks the PoolManager makes, named as Uniswap names them."""

    AFTER_REMOVE_LIQUIDITY_RETURNS_DELTA = 1 << 0
    AFTER_ADD_LIQUIDITY_RETURNS_DELTA = 1 << 1
    AFTER_SWAP_RETURNS_DELTA = 1 << 2
    BEFORE_SWAP_RETURNS_DELTA = 1 << 3
    AFTER_DONATE = 1 << 4
    BEFORE_DONATE = 1 << 5
    AFTER_SWAP = 1 << 6
    BEFORE_SWAP = 1 << 7
    AFTER_REMOVE_LIQUIDITY = 1 << 8
    BEFORE_REMOVE_LIQUIDITY = 1 << 9
    AFTER_ADD_LIQUIDITY = 1 << 10
    BEFORE_ADD_LIQUIDITY = 1 << 11
    AFTER_INITIALIZE = 1 << 12
    BEFORE_INITIALIZE = 1 << 13


_REFUSE_EXIT = Permission.BEFORE_REMOVE_LIQUIDITY | Permission.AFTER_REMOVE_LIQUIDITY
_REFUSE_ENTRY = Permission.BEFORE_ADD_LIQUIDITY | Permission.AFTER_ADD_LIQUIDITY
_REFUSE_SWAPS = Permission.BEFORE_SWAP | Permission.AFTER_SWAP
_TOUCH_SWAPS = (
    _REFUSE_SWAPS | Permission.BEFORE_SWAP_RETURNS_DELTA | Permission.AFTER_SWAP_RETURNS_DELTA
)
_REFUSE_DONATIONS = Permission.BEFORE_DONATE | Permission.AFTER_DONATE


class Danger(StrEnum):
    """How much a liquidity provider gives into a hook's hands."""

    NONE = "none"
    CAUTION = "caution"
    DANGEROUS = "dangerous"


class ProxyKind(StrEnum):
    MINIMAL = "minimal"
    """EIP-1167: runs the code of one fixed address."""
    UPGRADEABLE = "upgradeable"
    """EIP-1967 or EIP-1822: runs the code its owner names."""
    BEACON = "beacon"
    """EIP-1967: runs the code a third contract names."""
    ACCOUNT = "account"
    """EIP-7702: a person's account, which may point at other code at any time."""


class Proxy(Struct, frozen=True):
    kind: ProxyKind
    target: Address | None
    """Where the code is, when the proxy's own bytes say so."""


class HookCode(Struct, frozen=True):
    """What stands at the hook's address."""

    code_hash: str
    empty: bool
    proxy: Proxy | None


class HookPassport(Struct, frozen=True):
    address: Address
    permissions: Permission
    can_refuse_exit: bool
    can_tax_exit: bool
    can_refuse_entry: bool
    can_tax_entry: bool
    can_hold_swaps: bool
    can_tax_swaps: bool
    can_refuse_swaps: bool
    can_change_fee: bool
    code: HookCode | None
    """None until the code was read."""

    @property
    def present(self) -> bool:
        return self.address != NO_HOOK

    @property
    def danger(self) -> Danger:
        if not self.present:
            return Danger.NONE
        takes = self.can_tax_exit or self.can_tax_entry or self.can_hold_swaps
        if self.can_refuse_exit or takes:
            return Danger.DANGEROUS
        meddles = self.can_refuse_entry or self.can_refuse_swaps or self.can_tax_swaps
        replaceable = self.code is not None and self.code.proxy is not None
        if meddles or self.can_change_fee or replaceable:
            return Danger.CAUTION
        return Danger.NONE

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the hook may do, worst first, in words for the person who may leave money here."""
        if not self.present:
            return ("This pool has no hook.",)
        told = [
            (self.can_refuse_exit, "It can stop you from taking liquidity out."),
            (self.can_tax_exit, "It can keep part of what you withdraw."),
            (self.can_tax_entry, "It can take more than you put in as liquidity."),
            (self.can_hold_swaps, "It can take the pool's place in a swap and hold the tokens."),
            (self.can_change_fee, "It can change the fee of this pool at any time."),
            (self.can_tax_swaps, "It can keep part of what a swap pays."),
            (self.can_refuse_entry, "It can stop you from adding liquidity."),
            (self.can_refuse_swaps, "It can refuse swaps."),
            (bool(self.permissions & _REFUSE_DONATIONS), "It can refuse donations."),
        ]
        sentences = [sentence for holds, sentence in told if holds]
        return (*(sentences or ["It can do nothing to this pool."]), *_code_sentences(self.code))


def hook_passport(hooks: Address, fee: int, code: bytes | None = None) -> HookPassport:
    """The passport of the hook in a pool's key; `fee` is the key's, `code` what stands there."""
    permissions = permissions_of(hooks)
    return HookPassport(
        address=hooks,
        permissions=permissions,
        can_refuse_exit=bool(permissions & _REFUSE_EXIT),
        can_tax_exit=Permission.AFTER_REMOVE_LIQUIDITY_RETURNS_DELTA in permissions,
        can_refuse_entry=bool(permissions & _REFUSE_ENTRY),
        can_tax_entry=Permission.AFTER_ADD_LIQUIDITY_RETURNS_DELTA in permissions,
        can_hold_swaps=Permission.BEFORE_SWAP_RETURNS_DELTA in permissions,
        can_tax_swaps=Permission.AFTER_SWAP_RETURNS_DELTA in permissions,
        can_refuse_swaps=bool(permissions & _REFUSE_SWAPS),
        can_change_fee=fee == DYNAMIC_FEE and hooks != NO_HOOK,
        code=None if code is None or hooks == NO_HOOK else _read_code(code),
    )


def permissions_of(hooks: Address) -> Permission:
    return Permission(int(hooks, 16) & ((1 << _PERMISSION_BITS) - 1))


def touches_swaps(hook: Address) -> bool:
    """Whether a hook may change what a swap pays, so that no replay of the pool tells it."""
    return bool(permissions_of(hook) & _TOUCH_SWAPS)


_MINIMAL_PROXY = (
    bytes.fromhex("363d3d373d3d3d363d73"),
    bytes.fromhex("5af43d82803e903d91602b57fd5bf3"),
)
_DELEGATED_ACCOUNT = bytes.fromhex("ef0100")


# Where EIP-1967 and EIP-1822 keep the address of the code that runs; a proxy's own code names them.
BEACON_SLOT = bytes.fromhex("a3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50")
IMPLEMENTATION_SLOTS = (
    bytes.fromhex("360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"),
    bytes.fromhex("c5f16f0fcc639fa48a6947836d9850f504798523bf8c9a3a87d5876cf622bcf7"),
)


def _read_code(code: bytes) -> HookCode:
    return HookCode(code_hash="0x" + keccak(code).hex(), empty=not code, proxy=find_proxy(code))


def find_proxy(code: bytes) -> Proxy | None:
    """The proxy this code is, as far as its bytes tell."""
    before, after = _MINIMAL_PROXY
    if code.startswith(before) and code[len(before) + 20 :] == after:
        return Proxy(ProxyKind.MINIMAL, "0x" + code[len(before) : len(before) + 20].hex())
    if code.startswith(_DELEGATED_ACCOUNT) and len(code) == len(_DELEGATED_ACCOUNT) + 20:
        return Proxy(ProxyKind.ACCOUNT, "0x" + code[len(_DELEGATED_ACCOUNT) :].hex())
    if BEACON_SLOT in code:
        return Proxy(ProxyKind.BEACON, None)
    if any(slot in code for slot in IMPLEMENTATION_SLOTS):
        return Proxy(ProxyKind.UPGRADEABLE, None)
    return None


_PROXY_SENTENCES = {
    ProxyKind.MINIMAL: "Its code is that of another contract.",
    ProxyKind.UPGRADEABLE: "Its owner can replace its code.",
    ProxyKind.BEACON: "Another contract can replace its code.",
    ProxyKind.ACCOUNT: "It is a person's account that can point at other code at any time.",
}


def _code_sentences(code: HookCode | None) -> tuple[str, ...]:
    if code is None:
        return ()
    if code.empty:
        return ("There is no code at its address, so whatever it must agree to fails.",)
    return () if code.proxy is None else (_PROXY_SENTENCES[code.proxy.kind],)
