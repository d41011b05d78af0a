"""Uniswap v3 on a virtual chain: one pool, and as many positions as wallets are given."""

from dataclasses import dataclass, field

from chain.contracts import abi
from chain.contracts.networks import Address, V3Contracts
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols import custody
from chain.protocols.v3.pool_key import v3_pool_address

TICK, SPAN, FEE, LIQUIDITY = 100, (-600, 600), 3000, 10**15
_BALANCE = abi.selector("balanceOf(address)")
_AT = abi.selector("tokenOfOwnerByIndex(address,uint256)")
_POSITION = abi.selector("positions(uint256)")
_POSITION_TYPES = (
    *("uint96", "address", "address", "address", "uint24", "int24", "int24"),
    *("uint128", "uint256", "uint256", "uint128", "uint128"),
)


@dataclass
class VirtualV3:
    contracts: V3Contracts
    tokens: tuple[Address, Address]
    held: dict[Address, list[int]] = field(default_factory=dict)

    @property
    def pool(self) -> Address:
        return v3_pool_address(self.contracts.factory, *self.tokens, FEE)

    def call(self, to: Address, data: bytes) -> tuple[bool, bytes] | None:
        """What its contracts answer; None for a call of somebody else's."""
        if to == self.contracts.position_manager:
            return self._manager(data[:4], data[4:])
        return (True, self._pool(data[:4])) if to == self.pool else None

    def _manager(self, selector: bytes, given: bytes) -> tuple[bool, bytes]:
        number = int.from_bytes(given[:32], "big")
        mine = self.held.get(f"0x{number:040x}", [])
        if selector == _BALANCE:
            return True, len(mine).to_bytes(32, "big")
        if selector == _AT:
            index = int.from_bytes(given[32:], "big")
            return (True, mine[index].to_bytes(32, "big")) if index < len(mine) else (False, b"")
        owner = next((one for one, ids in self.held.items() if number in ids), None)
        if owner is None:
            return False, b""
        if selector == custody.OWNER:
            return True, bytes(12) + bytes.fromhex(owner[2:])
        assert selector == _POSITION
        nobody = "0x" + "00" * 20
        place = (*self.tokens, FEE, *SPAN)
        values = (0, nobody, *place, LIQUIDITY, 0, 0, number, 7)
        return True, abi.encode(_POSITION_TYPES, values)

    def _pool(self, selector: bytes) -> bytes:
        one, none = (1).to_bytes(32, "big"), bytes(32)
        slot0 = ("uint160", "int24", "uint16", "uint16", "uint16", "uint8", "bool")
        answers = {
            "slot0()": abi.encode(slot0, (sqrt_price_at_tick(TICK), TICK, 0, 1, 1, 0, True)),
            "liquidity()": LIQUIDITY.to_bytes(32, "big"),
            "feeGrowthGlobal0X128()": none,
            "feeGrowthGlobal1X128()": none,
            "tickSpacing()": (60).to_bytes(32, "big"),
            "ticks(int24)": none * 7 + one,
            "positions(bytes32)": none * 3 + (1 << 100).to_bytes(32, "big") * 2,
        }
        return next(told for name, told in answers.items() if abi.selector(name) == selector)
