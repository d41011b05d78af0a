"""What people do on the embedded chain in these tests: mint, give away, burn, swap."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from chain.contracts import abi
from chain.contracts.calldata import (
    TO_SENDER,
    Burn,
    Decrease,
    Mint,
    PositionAction,
    SettlePair,
    SwapExactIn,
    TakePair,
    execute,
    modify_liquidities,
    swap_exact_in,
)
from chain.contracts.networks import NATIVE, Address, Network
from chain.contracts.pool_key import PoolKey
from chain.devnet.defaults import control_door
from chain.devnet.world.accounts import Account
from chain.devnet.world.writing import sign_transaction
from chain.protocols.snapshot import PositionIdentity
from chain.rpc.requests import Call, aggregate, decode_aggregate
from tests import node_rpc
from tests.waiting import wait_until

NEVER = 2**48 - 1
_GWEI = 10**9
_SIMULATED_GAS = 600_000
_IDS = itertools.count(1)


class CallFailedError(Exception):
    """A call the chain refused, with what it said."""


@dataclass(frozen=True)
class Moves:
    http: httpx2.Client
    url: str
    network: Network

    def rpc(self, method: str, *params: object) -> Any:
        body = {"jsonrpc": "2.0", "id": next(_IDS), "method": method, "params": list(params)}
        server = control_door(self.url) if method.startswith("zuno_") else self.url
        answer = self.http.post(server, json=body, timeout=120).json()
        if "error" in answer:
            raise CallFailedError(answer["error"])
        return answer["result"]

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Whatever happens inside never happened."""
        snapshot = self.rpc("evm_snapshot")
        try:
            yield
        finally:
            node_rpc.take_back(self.url, snapshot)

    def reorg(self, depth: int) -> None:
        """Other blocks in the place of the last ones: empty, and each a second later."""
        # A block that is just being made would stand on a state that was taken back.
        if self.rpc("anvil_getAutomine"):
            wait_until(lambda: not int(self.rpc("txpool_status")["pending"], 16))
        head = int(self.rpc("eth_blockNumber"), 16)
        blocks = [
            self.rpc("eth_getBlockByNumber", hex(number), False)
            for number in range(head - depth + 1, head + 1)
        ]
        self.rpc("anvil_rollback", depth)
        for block in blocks:
            self.rpc("evm_setNextBlockTimestamp", int(block["timestamp"], 16) + 1)
            self.rpc("evm_mine")
        # It may answer before it has mined: a lower chain would be one that was started anew.
        wait_until(lambda: int(self.rpc("eth_blockNumber"), 16) >= head)

    def send(
        self,
        account: Account,
        to: Address,
        data: bytes,
        *,
        gas: int = 1_000_000,
        mined: bool = True,
    ) -> str:
        """A transaction that succeeded, or one that waits to be mined."""
        nonce = int(self.rpc("eth_getTransactionCount", account.address, "pending"), 16)
        signed = sign_transaction(
            account.key,
            nonce=nonce,
            to=to,
            gas=gas,
            max_fee_per_gas=100 * _GWEI,
            max_priority_fee_per_gas=_GWEI,
            value=0,
            data=data,
        )
        sent: str = self.rpc("eth_sendRawTransaction", "0x" + signed.raw.hex())
        if not mined:
            return sent
        # A node mines at once, and answers before it has.
        receipt = node_rpc.receipt(self.url, sent)
        if int(receipt["status"], 16) != 1:
            raise CallFailedError(f"transaction {sent} failed")
        return sent

    def modify(
        self,
        account: Account,
        *actions: PositionAction,
        gas: int = 1_000_000,
        mined: bool = True,
    ) -> str:
        data = modify_liquidities(actions, NEVER)
        manager = self.network.contracts.position_manager
        return self.send(account, manager, data, gas=gas, mined=mined)

    def mint(
        self,
        payer: Account,
        pool: PoolKey,
        ranges: Sequence[tuple[int, int]],
        liquidity: int,
        owner: Address,
    ) -> list[int]:
        """Positions for anybody, paid for by somebody; their token ids."""
        first = self.next_token_id()
        most = 2**128 - 1
        mints = [Mint(pool, lower, upper, liquidity, most, most, owner) for lower, upper in ranges]
        pay = SettlePair(pool.currency0, pool.currency1)
        self.modify(payer, *mints, pay, gas=min(29_000_000, 400_000 + 400_000 * len(ranges)))
        return list(range(first, first + len(ranges)))

    def decrease(
        self, account: Account, position: PositionIdentity, liquidity: int, *, mined: bool = True
    ) -> str:
        action = Decrease(position.ref.token_id, liquidity, 0, 0)
        return self.modify(account, action, _take(position.pool_key), mined=mined)

    def burn(self, account: Account, position: PositionIdentity) -> str:
        return self.modify(account, Burn(position.ref.token_id, 0, 0), _take(position.pool_key))

    def give(self, owner: Account, recipient: Address, token_id: int) -> str:
        signature = "transferFrom(address,address,uint256)"
        data = abi.encode_call(signature, owner.address, recipient, token_id)
        return self.send(owner, self.network.contracts.position_manager, data)

    def swap(
        self,
        trader: Account,
        pool: PoolKey,
        amount: int,
        *,
        zero_for_one: bool,
        mined: bool = True,
    ) -> str:
        router = self.network.contracts.universal_router
        assert router is not None
        command = swap_exact_in(SwapExactIn(pool, zero_for_one, amount, 0))
        return self.send(trader, router, execute([command], NEVER), mined=mined)

    def burn_payouts(
        self, positions: Sequence[tuple[PositionIdentity, Address]], at: int
    ) -> list[tuple[int, int]]:
        """How much richer burns on top of a block make their owners, in both currencies.

        One after the other on one copy of the chain: a burn moves neither price nor fee growth.
        """
        manager = self.network.contracts.position_manager
        calls: list[dict[str, str]] = []
        for position, owner in positions:
            balances = aggregate(self._balance_calls(position.pool_key, owner))
            actions = (Burn(position.ref.token_id, 0, 0), _take(position.pool_key))
            look = _call(owner, self.network.contracts.multicall3, balances)
            calls += [look, _call(owner, manager, modify_liquidities(actions, NEVER)), look]
        [block] = self.rpc("eth_simulateV1", {"blockStateCalls": [{"calls": calls}]}, hex(at))
        paid: list[tuple[int, int]] = []
        for index in range(0, len(calls), 3):
            before, burned, after = block["calls"][index : index + 3]
            if int(burned["status"], 16) != 1:
                raise CallFailedError(burned)
            poorer, richer = (_balances(call["returnData"]) for call in (before, after))
            paid.append((richer[0] - poorer[0], richer[1] - poorer[1]))
        return paid

    def balances(self, pool: PoolKey, owner: Address) -> tuple[int, int]:
        data = "0x" + aggregate(self._balance_calls(pool, owner)).hex()
        call = {"to": self.network.contracts.multicall3, "data": data}
        return _balances(self.rpc("eth_call", call, "latest"))

    def _balance_calls(self, pool: PoolKey, owner: Address) -> list[Call]:
        multicall3 = self.network.contracts.multicall3
        return [
            Call(multicall3, abi.encode_call("getEthBalance(address)", owner))
            if currency == NATIVE
            else Call(currency, abi.encode_call("balanceOf(address)", owner))
            for currency in (pool.currency0, pool.currency1)
        ]

    def next_token_id(self) -> int:
        call = {
            "to": self.network.contracts.position_manager,
            "data": "0x" + abi.encode_call("nextTokenId()").hex(),
        }
        return int(self.rpc("eth_call", call, "latest"), 16)


def _call(sender: Address, to: Address, data: bytes) -> dict[str, str]:
    return {"from": sender, "to": to, "data": "0x" + data.hex(), "gas": hex(_SIMULATED_GAS)}


def _take(pool: PoolKey) -> TakePair:
    return TakePair(pool.currency0, pool.currency1, TO_SENDER)


def _balances(answer: str) -> tuple[int, int]:
    first, second = decode_aggregate(bytes.fromhex(answer[2:]))
    return int.from_bytes(first.data, "big"), int.from_bytes(second.data, "big")
