"""Two years of a chain with Uniswap's PositionManager on it, told from a handful of facts."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from chain.contracts import abi
from chain.contracts.networks import NATIVE, Address, Network
from chain.contracts.pool_key import PoolKey
from chain.math.ticks import tick_at_sqrt_price
from chain.protocols import custody
from chain.protocols.reference import v4_position
from chain.protocols.snapshot import PositionIdentity, identify
from chain.protocols.v4.events import MODIFY_LIQUIDITY, SWAP
from chain.protocols.v4.holdings import APPROVAL_FOR_ALL, TRANSFER
from chain.protocols.v4.storage import layout_of
from tests.fakes.honest_node import NodeRefusalError
from tests.fakes.providers.clock import START, VirtualClock
from tests.fakes.providers.virtual_market import (
    LIQUIDITY,
    TICK,
    VirtualMarket,
    change_log,
    log_of,
)
from tests.fakes.providers.virtual_v3 import VirtualV3

_WORD = 32
_NEXT_ID = abi.selector("nextTokenId()")
_BALANCE = abi.selector("balanceOf(address)")
_OPERATOR = abi.selector("isApprovedForAll(address,address)")
_AGGREGATE = abi.selector("aggregate3((address,bool,bytes)[])")
_TIME = abi.selector("getCurrentBlockTimestamp()")
_NUMBER = abi.selector("getBlockNumber()")
_PARENT = abi.selector("getLastBlockHash()")
_ARB_NUMBER = abi.selector("arbBlockNumber()")
_DECIMALS = abi.selector("decimals()")
_WORDS_OF_TOKENS = {abi.selector("symbol()"): "USDC", abi.selector("name()"): "USD Coin"}
_FEES = {
    abi.selector("getL1FeeUpperBound(uint256)"),
    abi.selector("getOperatorFee(uint256)"),
    abi.selector("gasEstimateL1Component(address,bool,bytes)"),
}
_STRANGER = "0x" + "57" * 20
_OTHER_TOKEN = "0x" + "77" * 20
_FIRST_IDS = 100
"""Opened in the first block."""
_SPAN = (TICK - 1_000, TICK + 1_000)
"""The ticks of every position."""


@dataclass(frozen=True)
class TransferFact:
    token_id: int
    sender: Address
    receiver: Address
    block: int


@dataclass
class VirtualChain:
    """Every position is of one plain pool; ids nobody was given belong to a stranger."""

    network: Network
    first_head: int
    next_id: int
    clock: VirtualClock
    transfers: list[TransferFact] = field(default_factory=list)
    swaps_a_day: int = 0

    @property
    def head(self) -> int:
        """Blocks come as the clock goes on."""
        return self.first_head + int((self.clock.now - START) / self.network.block_seconds)

    def __post_init__(self) -> None:
        contracts = self.network.contracts
        stable = self.network.stable or "0x" + "99" * 20
        self._key = PoolKey(NATIVE, stable, 500, 10, NATIVE)
        tokens = min(stable, _OTHER_TOKEN), max(stable, _OTHER_TOKEN)
        self.v3 = None if self.network.v3 is None else VirtualV3(self.network.v3, tokens)
        self._manager = contracts.position_manager
        self._pool_manager = contracts.pool_manager
        self._market = VirtualMarket(self.swaps_a_day, self.network.block_seconds)
        self._pool = layout_of(self.identity(1), self._manager).pool
        self._words = {self._pool.liquidity: LIQUIDITY}
        self._moves: dict[int, list[TransferFact]] = {}
        self._allowed: dict[tuple[Address, Address], int] = {}

    def give(self, token_id: int, receiver: Address, block: int, sender: Address = NATIVE) -> None:
        fact = TransferFact(token_id, sender, receiver, block)
        self.transfers.append(fact)
        self._moves.setdefault(token_id, []).append(fact)
        position = layout_of(self.identity(token_id), self._manager).position
        self._words[position.liquidity] = 10**15

    def identity(self, token_id: int) -> PositionIdentity:
        return identify(v4_position(token_id), self._key, *_SPAN)

    def allow(self, owner: Address, operator: Address, block: int) -> None:
        """Let a stranger move every position of the owner from this block on."""
        self._allowed[owner, operator] = block

    def owner(self, token_id: int, at: int) -> Address | None:
        moved = [one for one in self._moves.get(token_id, ()) if one.block <= at]
        if moved:
            last = max(moved, key=lambda one: one.block).receiver
            return None if last == NATIVE else last
        return _STRANGER if 0 < token_id < self.next_id else None

    def owned(self, owner: Address, at: int) -> set[int]:
        return {token for token in self._moves if self.owner(token, at) == owner}

    def hash(self, number: int) -> str:
        return _hash(self.network.chain_id, number)

    def time(self, number: int) -> int:
        return int(START + self.network.block_seconds * (number - self.first_head))

    def answer(self, method: str, params: list[object], behind: int) -> object:
        """As a machine tells it that lacks so many of the newest blocks."""
        newest = self.head - behind
        match method, params:
            case "eth_chainId", []:
                return hex(self.network.chain_id)
            case "eth_getBlockByNumber", [str(ref), False]:
                return self._block(self._height(ref, newest), newest)
            case "eth_getBlockByHash", [str(ref), False]:
                return self._block(self._by_hash(ref, newest), newest)
            case "eth_getLogs", [dict(wanted)]:
                last = self._height(str(wanted["toBlock"]), newest)
                if last > newest:
                    raise NodeRefusalError(-32000, "block range extends beyond current head block")
                first = int(str(wanted["fromBlock"]), 16)
                ours = wanted["address"] == self._manager
                logs = self._logs if ours else self._pool_logs
                return [
                    {**one, "blockHash": self.hash(int(str(one["blockNumber"]), 16))}
                    for one in logs(first, last, wanted["topics"])
                ]
            case "eth_getTransactionReceipt", [str(wanted)]:
                return self._receipt(int(wanted[2:-4], 16))
            case "eth_feeHistory", _:
                return {
                    "oldestBlock": hex(newest - 9),
                    "baseFeePerGas": ["0x1"] * 11,
                    "gasUsedRatio": [0.5] * 10,
                    "reward": [["0x1"]] * 10,
                }
            case (("eth_maxPriorityFeePerGas" | "eth_gasPrice"), []):
                return "0x1"
            case "eth_call", [{"to": str(to), "data": str(data)}, ref]:
                at = self._state(ref, newest)
                success, answer = self._call(to.lower(), bytes.fromhex(data[2:]), at)
                if not success:
                    raise NodeRefusalError(3, "execution reverted")
                return "0x" + answer.hex()
            case "eth_getCode", _:
                return "0x00"
        raise NodeRefusalError(-32601, f"the method {method} does not exist/is not available")

    def _block(self, number: int | None, newest: int) -> dict[str, object] | None:
        if number is None or not 0 <= number <= newest:
            return None
        return {
            "number": hex(number),
            "hash": self.hash(number),
            "parentHash": self.hash(number - 1),
            "timestamp": hex(self.time(number)),
            "baseFeePerGas": "0x1",
            "gasUsed": "0x0",
            "gasLimit": "0x1c9c380",
        }

    def _height(self, ref: str, newest: int) -> int:
        if ref == "finalized":
            return newest - 1000
        if ref == "earliest":
            return 0
        return newest if ref == "latest" else int(ref, 16)

    def _by_hash(self, wanted: str, newest: int) -> int | None:
        recent = range(newest, max(0, newest - 5_000), -1)
        return next((number for number in recent if self.hash(number) == wanted), None)

    def _state(self, ref: object, newest: int) -> int:
        number: int | None
        if isinstance(ref, dict):
            number = self._by_hash(str(ref["blockHash"]), newest)
        else:
            number = self._height(str(ref), newest)
        if number is None or number > newest:
            raise NodeRefusalError(-32000, "header not found")
        return number

    def _logs(self, first: int, last: int, topics: object) -> Iterator[dict[str, object]]:
        assert isinstance(topics, list)
        facts = self.transfers
        if topics == [TRANSFER, _topic(NATIVE)]:
            facts = [*facts, *self._strangers(first, last)]
        for place, one in enumerate(sorted(facts, key=lambda one: one.block)):
            told = [TRANSFER, _topic(one.sender), _topic(one.receiver), f"0x{one.token_id:064x}"]
            if first <= one.block <= last and _matches(told, topics):
                yield log_of(self._manager, told, "0x", one.block, place)
        for (owner, operator), block in self._allowed.items():
            told = [APPROVAL_FOR_ALL, _topic(owner), _topic(operator)]
            if first <= block <= last and _matches(told, topics):
                yield log_of(self._manager, told, "0x" + _word(1).hex(), block, 9)

    def _strangers(self, first: int, last: int) -> Iterator[TransferFact]:
        """Positions that others opened, evenly since the first block."""
        begin, newest = self.network.first_block, self.next_id - 1
        blocks, ids = self.first_head - begin, newest - _FIRST_IDS

        def opened(block: int) -> int:
            return _FIRST_IDS + (block - begin) * ids // blocks

        for token_id in range(opened(first), min(newest, opened(last)) + 1):
            block = begin + -(-(token_id - _FIRST_IDS) * blocks // ids)
            if first <= block <= last and token_id not in self._moves:
                yield TransferFact(token_id, NATIVE, _STRANGER, block)

    def _pool_logs(self, first: int, last: int, topics: object) -> Iterator[dict[str, object]]:
        """What changed the pool: positions as they came to be, and swaps."""
        assert isinstance(topics, list)
        kinds = topics[0] if isinstance(topics[0], list) else [topics[0]]
        pools = topics[1] if isinstance(topics[1], list) else [topics[1]]
        if self._key.pool_id not in pools:
            return
        if MODIFY_LIQUIDITY in kinds:
            yield from (
                self._change(one)
                for one in sorted(self.transfers, key=lambda one: one.block)
                if first <= one.block <= last and one.sender == NATIVE
            )
        if SWAP in kinds and self.swaps_a_day:
            yield from self._market.logs(first, last, self._key.pool_id, self._pool_manager)

    def _change(self, fact: TransferFact) -> dict[str, object]:
        return change_log(
            self._pool_manager, self._key.pool_id, self._manager, fact.block, fact.token_id, _SPAN
        )

    def _receipt(self, block: int) -> dict[str, object]:
        made = [self._change(one) for one in self.transfers if one.block == block]
        return {
            "transactionHash": made[0]["transactionHash"],
            "transactionIndex": "0x0",
            "blockNumber": hex(block),
            "blockHash": self.hash(block),
            "from": made[0]["address"],
            "to": self._manager,
            "contractAddress": None,
            "status": "0x1",
            "gasUsed": "0x5208",
            "cumulativeGasUsed": "0x5208",
            "effectiveGasPrice": "0x1",
            "l1Fee": "0x1",
            "logs": [{**one, "blockHash": self.hash(block)} for one in made],
        }

    def _call(self, to: Address, data: bytes, at: int) -> tuple[bool, bytes]:
        selector, given = data[:4], data[4:]
        of_v3 = None if self.v3 is None else self.v3.call(to, data)
        if of_v3 is not None:
            return of_v3
        if selector == _AGGREGATE:
            return True, self._aggregate(given, at)
        number = int.from_bytes(given[:_WORD], "big")
        owner = self.owner(number, at)
        match selector:
            case s if s == custody.OWNER:
                return owner is not None, b"" if owner is None else _address(owner)
            case s if s == custody.POOL_AND_INFO:
                key = abi.encode_call("f(address,address,uint24,int24,address)", *self._key.values)
                return True, key[4:] + self._info(owner)
            case s if s == custody.INFO:
                return True, self._info(owner)
            case s if s in (custody.APPROVED, custody.SUBSCRIBER):
                return True, bytes(_WORD)
            case s if s == _OPERATOR:
                pair = f"0x{number:040x}", "0x" + given[_WORD + 12 : 2 * _WORD].hex()
                return True, _word(self._allowed.get(pair, at + 1) <= at)
            case s if s == _DECIMALS:
                return True, _word(6)
            case s if s in _WORDS_OF_TOKENS:
                return True, abi.encode(("string",), (_WORDS_OF_TOKENS[s],))
            case s if s in _FEES:
                return True, _word(1)
            case s if s == _NEXT_ID:
                return True, _word(self.next_id)
            case s if s == _BALANCE:
                return True, _word(len(self.owned(f"0x{number:040x}", at)))
            case s if s in (_NUMBER, _ARB_NUMBER):
                return True, _word(at)
            case s if s == _TIME:
                return True, _word(self.time(at))
            case s if s == _PARENT:
                return True, bytes.fromhex(self.hash(at - 1)[2:])
        slots = [given[place : place + _WORD] for place in range(2 * _WORD, len(given), _WORD)]
        words = [self._stored(int.from_bytes(slot, "big"), at) for slot in slots]
        return True, b"".join((_word(_WORD), _word(len(words)), *map(_word, words)))

    def _stored(self, slot: int, at: int) -> int:
        """A word of the PoolManager: every swap moves the price and pays a fee."""
        if slot == self._pool.slot0:
            root = self._market.root(at)
            return root | tick_at_sqrt_price(root) % (1 << 24) << 160 | 500 << 208
        if slot == self._pool.fee_growth_global0:
            return self._market.growth(at)[0]
        if slot == self._pool.fee_growth_global1:
            return self._market.growth(at)[1]
        return self._words.get(slot, 0)

    def _info(self, owner: Address | None) -> bytes:
        if owner is None:
            return bytes(_WORD)
        prefix = int(self._key.pool_id[:52], 16)
        lower, upper = (tick % 2**24 for tick in _SPAN)
        return _word(prefix << 56 | upper << 32 | lower << 8)

    def _aggregate(self, given: bytes, at: int) -> bytes:
        count = int.from_bytes(given[_WORD : 2 * _WORD], "big")
        base = 2 * _WORD
        bodies: list[bytes] = []

        def number(place: int) -> int:
            return int.from_bytes(given[place : place + _WORD], "big")

        for place in range(count):
            start = base + number(base + _WORD * place)
            length, body = number(start + 3 * _WORD), start + 4 * _WORD
            target = "0x" + given[start + 12 : start + _WORD].hex()
            success, answer = self._call(target, given[body : body + length], at)
            padded = answer + bytes(-len(answer) % _WORD)
            bodies.append(_word(success) + _word(2 * _WORD) + _word(len(answer)) + padded)
        offsets, offset = [], _WORD * count
        for one in bodies:
            offsets.append(_word(offset))
            offset += len(one)
        return b"".join((_word(_WORD), _word(count), *offsets, *bodies))


@lru_cache(maxsize=100_000)
def _hash(chain_id: int, number: int) -> str:
    return "0x" + hashlib.sha256(f"{chain_id}/{number}".encode()).hexdigest()


def _word(value: int) -> bytes:
    return int(value).to_bytes(_WORD, "big")


def _address(address: Address) -> bytes:
    return bytes(12) + bytes.fromhex(address[2:])


def _topic(address: Address) -> str:
    return "0x" + _address(address).hex()


def _matches(told: list[str], wanted: list[object]) -> bool:
    for one, topic in zip(told, wanted, strict=False):
        if topic is not None and one not in (topic if isinstance(topic, list) else [topic]):
            return False
    return len(wanted) <= len(told)
