"""A node that tells the truth about a tiny made-up chain: what a fault is measured against."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

GAS_PRICE = 1_234_567_890
BALANCE_STEP = 1_000
LOG_TOPIC = "0x" + "ab" * 32


@dataclass
class HonestNode:
    """Blocks of 2 s; what an account holds at block n is n × 1000 + the branch it is on."""

    chain_id: int = 8453
    head: int = 100
    head_time: int = 1_700_000_000
    branch: int = 0
    """Blocks from `branch_at` on have other hashes and other balances on another branch."""
    branch_at: int = 90
    takes_block_hashes: bool = True
    most_in_batch: int | None = None
    reorg_after_calls: int | None = None
    """Switch the branch once this many calls were answered."""
    reorg_to: int = 1
    behind: Callable[[], int] = lambda: 0
    """How many of the newest blocks the machine that takes the next call has not got yet."""
    null_blocks: Callable[[], bool] = lambda: False
    """Whether the next question for a block is answered with null, whatever there is."""
    methods: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._newest = self.head

    def answer(self, call: dict[str, object]) -> dict[str, object]:
        method, params = str(call["method"]), call["params"]
        assert isinstance(params, list)
        self.methods.append(method)
        self._newest = self.head - self.behind()
        reply: dict[str, object] = {"jsonrpc": "2.0", "id": call["id"]}
        try:
            reply["result"] = self._result(method, params)
        except NodeRefusalError as error:
            reply["error"] = {"code": error.code, "message": error.message}
        if self.reorg_after_calls is not None and len(self.methods) >= self.reorg_after_calls:
            self.branch = self.reorg_to
            self.reorg_after_calls = None
        return reply

    def block(self, number: int) -> dict[str, object] | None:
        if not 0 <= number <= self._newest:
            return None
        return {
            "number": hex(number),
            "hash": self.hash(number),
            "parentHash": self.hash(number - 1),
            "timestamp": hex(self.head_time - 2 * (self.head - number)),
            "baseFeePerGas": "0x3b9aca00",
            "gasUsed": "0x5208",
            "gasLimit": "0x1c9c380",
        }

    def hash(self, number: int) -> str:
        branch = self.branch if number >= self.branch_at else 0
        return "0x" + hashlib.sha256(f"{number}/{branch}".encode()).hexdigest()

    def balance(self, number: int) -> int:
        return number * BALANCE_STEP + (self.branch if number >= self.branch_at else 0)

    def _result(self, method: str, params: list[object]) -> object:
        if method.startswith("eth_getBlockBy") and self.null_blocks():
            return None
        match method, params:
            case "eth_chainId", []:
                return hex(self.chain_id)
            case "eth_gasPrice", []:
                return hex(GAS_PRICE)
            case "eth_getBlockByNumber", [ref, False]:
                return self.block(self._number(ref, known=False))
            case "eth_getBlockByHash", [wanted, False]:
                return next(
                    (self.block(n) for n in range(self._newest + 1) if self.hash(n) == wanted), None
                )
            case "eth_call", [{"data": data}, ref]:
                self._number(ref)
                return data
            case "eth_getBalance", [_, ref]:
                return hex(self.balance(self._number(ref)))
            case "eth_getTransactionCount", [_, ref]:
                return hex(self._number(ref))
            case "eth_getLogs", [{"fromBlock": first, "toBlock": last}]:
                if self._number(last, known=False) > self._newest:
                    message = "block range extends beyond current head block"
                    raise NodeRefusalError(-32000, message)
                return [self._log(n) for n in range(self._number(first), self._number(last) + 1)]
            case _:
                raise NodeRefusalError(-32601, f"the method {method} does not exist")

    def _number(self, ref: object, *, known: bool = True) -> int:
        if ref in ("latest", "safe", "finalized"):
            return self._newest
        if isinstance(ref, str):
            number = int(ref, 16)
            if known and number > self._newest:
                raise NodeRefusalError(-32000, "header not found")
            return number
        if not self.takes_block_hashes:
            raise NodeRefusalError(-32602, "invalid argument 1: cannot unmarshal object")
        assert isinstance(ref, dict)
        for number in range(self._newest + 1):
            if self.hash(number) == ref["blockHash"]:
                return number
        raise NodeRefusalError(-32000, "header for hash not found")

    def _log(self, number: int) -> dict[str, object]:
        return {
            "address": "0x" + "cc" * 20,
            "topics": [LOG_TOPIC],
            "data": "0x" + "00" * 32,
            "blockNumber": hex(number),
            "blockHash": self.hash(number),
            "transactionHash": self.hash(number),
            "transactionIndex": "0x0",
            "logIndex": "0x0",
            "removed": False,
        }


class NodeRefusalError(Exception):
    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
