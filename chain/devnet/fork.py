"""A private copy of a chain at one block: what is done there is done nowhere else."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from chain.devnet.anvil import running_anvil
from chain.devnet.json_rpc import NodeClient

if TYPE_CHECKING:
    from chain.execution.transaction import UnsignedTransaction

_ANSWER_SECONDS = 180.0
"""A first look at a contract fetches its whole state, a word at a time."""


class ForkedChain:
    """The copy, and what can be done on it as anybody, without a key."""

    def __init__(self, node: NodeClient) -> None:
        self.url = node.url
        self._node = node

    def carry_out(self, transaction: UnsignedTransaction, timestamp: int) -> str:
        """Send these very fields as their sender and mine them at this time; the hash."""
        self._node.ask("anvil_impersonateAccount", transaction.sender)
        fields = {
            "from": transaction.sender,
            "to": transaction.to,
            "value": hex(transaction.value),
            "data": "0x" + transaction.data.hex(),
            "gas": hex(transaction.gas),
            "maxFeePerGas": hex(transaction.max_fee_per_gas),
            "maxPriorityFeePerGas": hex(transaction.max_priority_fee_per_gas),
            "nonce": hex(transaction.nonce),
        }
        sent = self._node.ask_text("eth_sendTransaction", fields)
        self._node.ask_all([("evm_setNextBlockTimestamp", (timestamp,)), ("evm_mine", ())])
        return sent

    def receipt(self, transaction_hash: str) -> Mapping[str, object] | None:
        answer = self._node.ask("eth_getTransactionReceipt", transaction_hash)
        return answer if isinstance(answer, dict) else None

    def mine_every(self, seconds: float) -> None:
        """From now on blocks come by themselves, as they do on the chain that was copied."""
        self._node.ask("evm_setIntervalMining", max(1, round(seconds)))


@contextmanager
def forked_chain(
    url: str,
    block_number: int,
    *,
    chain_id: int,
    port: int = 0,
    environment: Mapping[str, str] = os.environ,
) -> Iterator[ForkedChain]:
    """A copy of the chain that answers at this URL, for as long as the block lasts."""
    arguments = (
        *("--fork-url", url),
        *("--fork-block-number", str(block_number)),
        *("--chain-id", str(chain_id)),
        *("--accounts", "0"),
        *("--retries", "0"),
        *("--timeout", "60000"),
        *("--order", "fifo"),
        "--no-rate-limit",
        "--no-storage-caching",
        "--no-mining",
        "--disable-min-priority-fee",
    )
    with (
        running_anvil(arguments, port=port, environment=environment) as anvil,
        NodeClient(anvil.url, patience=_ANSWER_SECONDS) as node,
    ):
        yield ForkedChain(node)
