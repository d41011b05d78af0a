"""The protocols whose bytes are read here. Nobody outside asks which one it is."""

from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import PoolKey
from chain.execution.plan.effects import Effect
from chain.execution.plan.protocol import ProtocolReader
from chain.execution.plan.records import Call, Execute, Multicall, PlainCall, protocol_in
from chain.execution.v3.reader import V3CallReader
from chain.execution.v4.reader import V4CallReader

ALL: tuple[ProtocolReader, ...] = (V4CallReader(), V3CallReader())
_NAMED = {protocol.name: protocol for protocol in ALL}


def reader_named(name: str) -> ProtocolReader:
    return _NAMED[name]


def of_pool(key: PoolKey) -> ProtocolReader:
    return _NAMED[key.protocol]


def of_call(call: Call) -> ProtocolReader | None:
    """None of a call that no protocol has to itself."""
    whose = _NAMED.get(protocol_in(call))
    # Bytes that name nobody are for the first to refuse.
    return ALL[0] if whose is None and isinstance(call, Multicall | Execute) else whose


def effects_of(call: Call) -> tuple[Effect, ...]:
    """What it does to positions and pools; nothing of a call of no protocol's."""
    protocol = of_call(call)
    return protocol.effects(call) if protocol and isinstance(call, PlainCall) else ()


def managers(network: Network) -> frozenset[Address]:
    found = (protocol.manager(network) for protocol in ALL)
    return frozenset(manager for manager in found if manager is not None)


def direct_spenders(network: Network) -> tuple[Address, ...]:
    """Managers that move tokens by their own leave, and not through Permit2."""
    spenders = (protocol.manager(network) for protocol in ALL if protocol.direct)
    return tuple(spender for spender in spenders if spender is not None)
