"""What one endpoint tells of an order's position and of the order itself, at its newest block."""

from msgspec import Struct

from chain.base.store import Store
from chain.contracts.delegation import DELEGATION_MANAGER, LIMITED_CALLS, NONCES, delegate_in
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import Address, Network
from chain.contracts.signed_delegation import SignedDelegation, ask_count, ask_disabled, ask_nonce
from chain.positions.batch_reader import read_positions
from chain.positions.memory import PositionMemory
from chain.positions.snapshot import PositionSnapshot, RangeStatus
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.records import Block
from zuno_tui.gate.drift import read_hook_code

LEAST_BLOCKS = 3
"""Blocks a condition must have held for, and a transaction must lie deep."""


class OrderSight(Struct, frozen=True):
    head: Block
    position: PositionSnapshot | None
    """None where it is not there any more."""
    delegate: Address | None
    """Whose code the owner's account runs."""
    nonce: int
    disabled: bool
    used: int
    """How often the order was carried out."""
    surely_used: int
    """The same some blocks earlier: what a reorganisation hardly takes back."""
    hook_code: str | None

    @property
    def time(self) -> int:
        return self.head.timestamp

    @property
    def out_of_range(self) -> bool:
        return self.position is not None and self.position.status is not RangeStatus.IN_RANGE


async def read_sight(
    client: RpcClient, network: Network, token_id: int, signed: SignedDelegation
) -> OrderSight:
    """Nothing that another endpoint told before answers for this one."""
    head = await client.head()
    at = head.hash
    memory = PositionMemory(Store.in_memory(), network, lambda: float(head.timestamp))
    found = (await read_positions(client, network, memory, [token_id], at=at)).get(token_id)
    deep = max(0, head.number - LEAST_BLOCKS)
    code, nonce, disabled, used, surely_used = await client.together(
        requests.code(signed.delegator, at),
        requests.call(NONCES, ask_nonce(signed.delegator), at),
        requests.call(DELEGATION_MANAGER, ask_disabled(signed), at),
        requests.call(LIMITED_CALLS, ask_count(signed), at),
        requests.call(LIMITED_CALLS, ask_count(signed), deep),
    )
    return OrderSight(
        head,
        found,
        delegate_in(code),
        int.from_bytes(nonce, "big"),
        bool(int.from_bytes(disabled, "big")),
        int.from_bytes(used, "big"),
        int.from_bytes(surely_used, "big"),
        await hook_code(client, found, at),
    )


async def hook_code(client: RpcClient, position: PositionSnapshot | None, at: str) -> str | None:
    """What runs as the pool's hook, a proxy's implementation too; None without one."""
    if position is None or position.pool.key.hooks == NO_HOOK:
        return None
    return await read_hook_code(client, position.pool.key.hooks, at)
