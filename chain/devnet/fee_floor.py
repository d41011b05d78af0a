"""A floor under the price of gas, held by watching every block.

Blocks of the embedded chain are nearly empty, and EIP-1559 alone would let the base fee decay to 7
wei within 150 of them: gas would be free and no plan could be too expensive. A node has no such
floor, so whoever mines a block, the next one's fee is put right.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from chain.devnet.json_rpc import NodeClient, NodeError
from chain.devnet.world.writing import BASE_FEE_FLOOR

if TYPE_CHECKING:
    from websockets.sync.connection import Connection

_SUBSCRIBE = '{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}'


class _Notice(Struct, frozen=True):
    method: str | None = None
    """None for the answer to our own request."""


def hold_fee_floor(url: str) -> None:
    """Watch the node's blocks from a thread of its own, for as long as the node answers."""
    from websockets.sync.client import connect

    connection = connect(url.replace("http", "ws", 1), compression=None)
    connection.send(_SUBSCRIBE)
    watch = threading.Thread(target=_watch, args=(connection, url), name="fees", daemon=True)
    watch.start()


def _watch(connection: Connection, url: str) -> None:
    from websockets.exceptions import ConnectionClosed

    with suppress(ConnectionClosed, NodeError), connection, NodeClient(url) as node:
        for message in connection:
            if msgspec.json.decode(message, type=_Notice).method is not None:
                _raise_fee(node)


def _raise_fee(node: NodeClient) -> None:
    history = node.ask_fields("eth_feeHistory", "0x1", "latest", [])
    fees = msgspec.convert(history["baseFeePerGas"], list[str])
    if int(fees[-1], 16) < BASE_FEE_FLOOR:
        node.ask("anvil_setNextBlockBaseFeePerGas", hex(BASE_FEE_FLOOR))
