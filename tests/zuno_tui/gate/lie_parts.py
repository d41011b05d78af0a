"""The ways to lie: a field of a block, a word of storage, what a contract returns, a receipt."""

from collections.abc import Callable, Iterable
from math import isqrt
from typing import Any

from chain.contracts.abi import selector
from chain.contracts.addresses import keccak
from chain.contracts.networks import Address
from chain.contracts.pool_key import PoolKey, position_key
from chain.contracts.storage import pool_slots, position_slots
from chain.devnet.world.deployment import CONTRACTS
from chain.devnet.world.pools import SLEEPY
from chain.math.ticks import tick_at_sqrt_price
from tests import node_rpc
from tests.fakes.lying_endpoint import (
    Lie,
    ToldError,
    contract_reads,
    results,
    storage_words,
)
from tests.fakes.proxy import Call
from tests.zuno_tui.gate.desk import Desk

LieMaker = Callable[[Desk], Lie]

YEARS = 10 * 365 * 86_400
GWEI = 10**9
_HEADS = ("eth_getBlockByNumber", "eth_getBlockByHash")


def block_fields(**changes: Callable[[Any], Any]) -> Lie:
    """Fields of every block that is told."""

    def changed(true: Any) -> Any:
        if true is None:
            return None
        return {**true, **{name: change(true[name]) for name, change in changes.items()}}

    return Lie({method: lambda _call, true: changed(true) for method in _HEADS})


def clock_moved(seconds: int) -> Lie:
    """The time, in every header and wherever a contract is asked for it."""
    now = "getCurrentBlockTimestamp()"
    moved = reads((CONTRACTS.multicall3,), now, first_word(lambda time: time + seconds))
    return block_fields(timestamp=raised(seconds)) | moved


def head_raised(blocks: int) -> Lie:
    counted = reads(
        (CONTRACTS.multicall3,), "getBlockNumber()", first_word(lambda one: one + blocks)
    )
    number = block_fields(number=raised(blocks)) | results("eth_blockNumber", raised(blocks))
    return number | counted


def raised(by: int) -> Callable[[str], str]:
    return lambda text: hex(max(0, int(text, 16) + by))


def scaled(numerator: int, denominator: int = 1) -> Callable[[str], str]:
    return lambda text: hex(int(text, 16) * numerator // denominator)


def older_head(desk: Desk) -> Lie:
    """The chain as it was some blocks ago, told as the newest."""
    older = hex(int(desk.ask("eth_blockNumber"), 16) - 12)

    def block(call: Call, true: Any) -> Any:
        if call["params"][0] != "latest":
            return true
        return desk.ask("eth_getBlockByNumber", older, False)

    return Lie({"eth_getBlockByNumber": block, "eth_blockNumber": lambda _call, _true: older})


def tips(reward: int) -> Lie:
    def history(_call: Call, true: Any) -> Any:
        rewards = [[hex(reward) for _ in row] for row in true.get("reward") or []]
        return {**true, "reward": rewards}

    tip = results("eth_maxPriorityFeePerGas", lambda _true: hex(reward))
    return Lie({"eth_feeHistory": history}) | tip


def base_fees(change: Callable[[str], str]) -> Lie:
    def history(_call: Call, true: Any) -> Any:
        return {**true, "baseFeePerGas": [change(one) for one in true["baseFeePerGas"]]}

    return Lie({"eth_feeHistory": history}) | block_fields(baseFeePerGas=change)


def simulated(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Lie:
    """Every call of a simulation, changed."""

    def changed(_call: Call, true: Any) -> Any:
        return [{**block, "calls": [change(one) for one in block["calls"]]} for block in true]

    return Lie({"eth_simulateV1": changed})


def succeeds(call: dict[str, Any]) -> dict[str, Any]:
    if int(call["status"], 16):
        return call
    rest = {key: value for key, value in call.items() if key != "error"}
    return {**rest, "status": "0x1", "returnData": "0x", "logs": [], "gasUsed": hex(200_000)}


def doubled_amounts(call: dict[str, Any]) -> dict[str, Any]:
    """Transfers and balances of a simulation, twice as large."""
    logs = [
        {**log, "data": f"0x{2 * int(log['data'], 16):064x}"} if len(log["data"]) == 66 else log
        for log in call.get("logs") or []
    ]
    returned = call.get("returnData") or "0x"
    if len(returned) == 66 and not logs:
        returned = f"0x{2 * int(returned, 16) % 2**255:064x}"
    return {**call, "logs": logs, "returnData": returned}


def reads(targets: Iterable[Address], signature: str, change: Callable[[bytes], bytes]) -> Lie:
    named, beginning = set(targets), selector(signature)
    return contract_reads(
        CONTRACTS.multicall3, lambda to, data: to in named and data[:4] == beginning, change
    )


def first_word(change: Callable[[int], int]) -> Callable[[bytes], bytes]:
    """The first word of what is returned."""
    return lambda data: change(int.from_bytes(data[:32], "big")).to_bytes(32, "big") + data[32:]


def pool_word(pool: PoolKey, name: str, change: Callable[[int], int]) -> Lie:
    slot = getattr(pool_slots(pool.pool_id), name)
    return storage_words(CONTRACTS.multicall3, CONTRACTS.pool_manager, {slot: change})


def price_moved(per_mille: int) -> Callable[[int], int]:
    """The word with price and tick, moved by so many thousandths of the price."""

    def moved(word: int) -> int:
        root = word % 2**160
        other = isqrt(root * root * (1000 + per_mille) // 1000)
        return word >> 184 << 184 | tick_at_sqrt_price(other) % 2**24 << 160 | other

    return moved


def position_liquidity(desk: Desk, state: str, change: Callable[[int], int]) -> Lie:
    """The liquidity of a position in the PoolManager, wherever it is read."""
    token_id = desk.token_id(state)
    found = desk.positions()[str(token_id)]
    ticks = (found["tickLower"], found["tickUpper"])
    key = position_key(CONTRACTS.position_manager, *ticks, token_id)
    slot = position_slots(found["poolId"], key).liquidity
    return storage_words(CONTRACTS.multicall3, CONTRACTS.pool_manager, {slot: change})


def position_info(change: Callable[[int], int]) -> Lie:
    """The word that ties a position to its pool and its ticks, the last that is returned."""

    def changed(data: bytes) -> bytes:
        word = int.from_bytes(data[-32:], "big")
        return data[:-32] + change(word).to_bytes(32, "big")

    manager = (CONTRACTS.position_manager,)
    return reads(manager, "getPoolAndPositionInfo(uint256)", changed)


def wider(word: int) -> int:
    """A range of sixty ticks more on its upper side."""
    upper = word >> 32 & 0xFFFFFF
    return word & ~(0xFFFFFF << 32) | (upper + 60) % 2**24 << 32


def code_of(address: Address, told: str | None = None) -> Lie:
    def changed(call: Call, true: Any) -> Any:
        if call["params"][0].lower() != address:
            return true
        return true + "00" if told is None else told

    return Lie({"eth_getCode": changed})


def quoted(numerator: int, denominator: int) -> Lie:
    signature = "quoteExactInputSingle(((address,address,uint24,int24,address),bool,uint128,bytes))"
    lower = first_word(lambda out: out * numerator // denominator)
    return reads((CONTRACTS.quoter,), signature, lower)


def receipts(change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Lie:
    return results("eth_getTransactionReceipt", lambda true: None if true is None else change(true))


def reverting(desk: Desk) -> Lie:
    """The price moved far away just before the transaction comes, which therefore reverts."""
    pool_id = SLEEPY.key.pool_id

    def send(call: Call, _true: Any) -> Any:
        desk.raise_price(pool_id, bips=900)
        return node_rpc.broadcast(desk.devnet.url, *call["params"])

    sends = Lie({"eth_sendRawTransaction": send}, frozenset({"eth_sendRawTransaction"}))
    return sends | receipts(lambda true: {**true, "status": "0x1"})


def swallowed(call: Call, _true: Any) -> Any:
    return "0x" + keccak(bytes.fromhex(call["params"][0][2:])).hex()


def refused_after_all(_call: Call, _true: Any) -> Any:
    raise ToldError(-32000, "insufficient funds for gas * price + value")


def extra_log(true: Any) -> Any:
    return [*true, {**true[-1], "data": "0x" + "ff" * 32}] if true else true
