"""The embedded chain as what stands behind a provider, also by a machine that lacks its head."""

from dataclasses import dataclass
from typing import Any

from tests import node_rpc
from tests.fakes.honest_node import NodeRefusalError

_BLOCK_PLACE = {
    "eth_call": 1,
    "eth_estimateGas": 1,
    "eth_getBalance": 1,
    "eth_getCode": 1,
    "eth_getTransactionCount": 1,
    "eth_getStorageAt": 2,
    "eth_simulateV1": 1,
    "eth_feeHistory": 1,
}
"""Where a question about state names its block."""
_NEWEST = ("latest", "pending", "safe")


@dataclass(frozen=True)
class EmbeddedChain:
    url: str

    @property
    def head(self) -> int:
        return int(node_rpc.ask(self.url, "eth_blockNumber"), 16)

    def answer(self, method: str, params: list[object], behind: int) -> object:
        """What the chain says, or what a machine says that lacks so many of its blocks."""
        if not behind:
            return self._ask(method, params)
        newest = self.head - behind
        match method, params:
            case "eth_blockNumber", _:
                return hex(newest)
            case (("eth_getBlockByNumber" | "eth_getBlockByHash"), [ref, *rest]):
                found = self._ask(method, [hex(newest) if ref in _NEWEST else ref, *rest])
                return found if _number(found, "number") <= newest else None
            case "eth_getTransactionReceipt", _:
                receipt = self._ask(method, params)
                return receipt if _number(receipt, "blockNumber") <= newest else None
            case "eth_getLogs", [dict(wanted)]:
                last = wanted["toBlock"]
                if last in _NEWEST:
                    return self._ask(method, [{**wanted, "toBlock": hex(newest)}])
                if int(str(last), 16) > newest:
                    raise NodeRefusalError(-32000, "block range extends beyond current head block")
        place = _BLOCK_PLACE.get(method)
        if place is None or len(params) <= place:
            return self._ask(method, params)
        return self._ask(method, self._with_block(params, place, newest))

    def _with_block(self, params: list[object], place: int, newest: int) -> list[object]:
        ref = params[place]
        if ref in _NEWEST:
            return [*params[:place], hex(newest), *params[place + 1 :]]
        if isinstance(ref, dict):
            named = self._ask("eth_getBlockByHash", [ref["blockHash"], False])
        else:
            named = {"number": ref}
        if _number(named, "number") > newest:
            raise NodeRefusalError(-32000, "header not found")
        return params

    def _ask(self, method: str, params: list[object]) -> Any:
        told = node_rpc.answer_of(self.url, method, *params)
        error = told.get("error")
        if error is not None:
            raise NodeRefusalError(int(error["code"]), str(error["message"]), error.get("data"))
        return told["result"]


def _number(found: Any, name: str) -> int:
    """Of a block or a receipt; 0 for what is not there, which is then told as it is."""
    value = None if found is None else found[name]
    return int(value, 16) if isinstance(value, str) and value.startswith("0x") else 0
