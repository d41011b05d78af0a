"""A small chain to test against: contracts of a few bytes each, and a client of a few lines."""

from __future__ import annotations

import json
import sys
import urllib.request
from dataclasses import dataclass
from typing import Any

import pytest

from chain.base.units import GWEI
from chain.contracts.public_keys import address_of
from chain.devnet.node.ledger import ChainLedger
from chain.devnet.node.records import GenesisAccount, to_hex
from chain.devnet.node.transactions import NodeTransaction, sign_transaction

NESTS_DEEP = pytest.mark.skipif(
    sys.version_info[:2] == (3, 12), reason="Python 3.12 bounds calls through C whatever is set"
)
"""For calls as deep as the EVM allows, which no real contract comes near."""

GENESIS_TIME = 1_700_000_000
ETHER = 10**18

ALICE_KEY = b"\xa1" * 32
BOB_KEY = b"\xb0" * 32
PAUPER_KEY = b"\xc4" * 32
ALICE, BOB, PAUPER = (address_of(key) for key in (ALICE_KEY, BOB_KEY, PAUPER_KEY))
NOBODY = "0x" + "dead" * 10

COUNTER = "0x" + "c0" * 20
"""Adds one to slot 0, logs topic 7 with the new value, returns it."""
STORE = "0x" + "c1" * 20
"""Writes its second word of calldata into the slot of its first."""
ECHO = "0x" + "c2" * 20
"""Returns its calldata."""
REVERT = "0x" + "c3" * 20
"""Reverts with its calldata."""
LOGGER = "0x" + "c4" * 20
"""Logs its calldata's first three words as topics."""
LOOP = "0x" + "c5" * 20
"""Never ends."""
FORWARD = "0x" + "c6" * 20
"""Sends on the ether it gets to NOBODY."""
RECURSE = "0x" + "c7" * 20
"""Calls itself as deep as the gas goes."""
BLOCKHASH = "0x" + "c8" * 20
"""Returns the hash of the block before the one it runs in."""
INVALID = "0x" + "c9" * 20
"""Runs into an invalid opcode."""
GASEOUS = "0x" + "ca" * 20
"""Reverts when it is called with less than 200,000 gas, though it needs almost none."""

CODES = {
    COUNTER: "600054600101600055600054600052600760206000a160206000f3",
    STORE: "6020355f355500",
    ECHO: "365f5f37365ff3",
    REVERT: "365f5f37365ffd",
    LOGGER: "6040356020355f355f5fa300",
    LOOP: "5b5f56",
    FORWARD: f"5f5f5f5f3473{NOBODY[2:]}5af100",
    RECURSE: "5f5f5f5f5f305af100",
    BLOCKHASH: "60014303405f5260205ff3",
    INVALID: "fe",
    GASEOUS: "62030d405a11600c575f5ffd5b00",
}

INIT_CODE = bytes.fromhex("600a600c600039600a6000f3602a60005260206000f3")
"""Deploys a contract that returns 42."""


def new_ledger() -> ChainLedger:
    accounts = {address: GenesisAccount(balance=100 * ETHER) for address in (ALICE, BOB)}
    contracts = {
        address: GenesisAccount(code=bytes.fromhex(code)) for address, code in CODES.items()
    }
    contracts[COUNTER] = GenesisAccount(code=bytes.fromhex(CODES[COUNTER]), storage={0: 41})
    return ChainLedger.genesis(accounts | contracts, timestamp=GENESIS_TIME)


def word(value: int) -> str:
    return f"0x{value:064x}"


def signed(
    key: bytes = ALICE_KEY,
    *,
    nonce: int,
    to: str | None = COUNTER,
    gas: int = 100_000,
    fee: int = 2 * GWEI,
    tip: int = GWEI // 10,
    value: int = 0,
    data: bytes = b"",
) -> NodeTransaction:
    return sign_transaction(
        key,
        nonce=nonce,
        to=to,
        gas=gas,
        max_fee_per_gas=fee,
        max_priority_fee_per_gas=tip,
        value=value,
        data=data,
    )


class FaultError(Exception):
    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


@dataclass(frozen=True)
class Client:
    url: str

    def __call__(self, method: str, *params: object) -> Any:
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": list(params)}
        answer = self.post(json.dumps(body).encode())
        assert answer["jsonrpc"] == "2.0"
        assert answer["id"] == 7
        if "error" in answer:
            raise FaultError(answer["error"])
        return answer["result"]

    def post(self, body: bytes) -> Any:
        request = urllib.request.Request(
            self.url, data=body, headers={"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=20) as response:
            return json.loads(response.read())

    def send(self, transaction: NodeTransaction) -> str:
        return str(self("eth_sendRawTransaction", to_hex(transaction.raw)))

    def receipt(self, transaction_hash: str) -> Any:
        return self("eth_getTransactionReceipt", transaction_hash)

    def nonce(self, address: str, at: str = "latest") -> int:
        return int(self("eth_getTransactionCount", address, at), 16)

    def height(self) -> int:
        return int(self("eth_blockNumber"), 16)

    def count(self, at: object = "latest") -> int:
        return int(self("eth_getStorageAt", COUNTER, "0x0", at), 16)
