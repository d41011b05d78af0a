"""A pool as the PoolManager stores it at one block, and the plain pools that may exist."""

from collections.abc import Sequence
from typing import NamedTuple

from chain.contracts.abi import encode_call
from chain.contracts.hooks import BEACON_SLOT, IMPLEMENTATION_SLOTS, HookPassport
from chain.contracts.networks import Address
from chain.math.ticks import MAX_TICK, MIN_TICK
from chain.read.block_reader import expect
from chain.rpc import requests
from chain.rpc.errors import Reverted, RpcRefused
from chain.rpc.requests import Reader

NEARBY_TICKS = 200
"""About two per cent: how far around the price a pool's depth is counted."""


class NearbyTicks(NamedTuple):
    lowest: int
    highest: int


def nearby_ticks(tick: int) -> NearbyTicks:
    """The ticks within which a pool's depth is counted."""
    return NearbyTicks(max(tick - NEARBY_TICKS, MIN_TICK), min(tick + NEARBY_TICKS, MAX_TICK))


_SLOTS = (*IMPLEMENTATION_SLOTS, BEACON_SLOT)


def passes_calls_on(hook: HookPassport) -> bool:
    """Whether its code names a place in storage that says whose code runs."""
    proxy = None if hook.code is None else hook.code.proxy
    return proxy is not None and proxy.target is None


async def read_hook_targets(
    reader: Reader, hooks: Sequence[Address]
) -> dict[Address, tuple[Address, ...]]:
    """By hook, the addresses that stand there: implementations, a beacon and what it names.

    One request, two where a hook has a beacon.
    """
    questions = [requests.storage(hook, "0x" + slot.hex()) for hook in hooks for slot in _SLOTS]
    words = [expect(answer, str) for answer in await reader.settle(questions)]
    named = {
        hook: words[at : at + len(_SLOTS)]
        for hook, at in zip(hooks, range(0, len(words), len(_SLOTS)), strict=True)
    }
    beacons = sorted({_address(found[-1]) for found in named.values() if int(found[-1], 16)})
    behind = await _implementations(reader, beacons)
    return {
        hook: (
            *(_address(word) for word in found if int(word, 16)),
            *behind.get(_address(found[-1]), ()),
        )
        for hook, found in named.items()
    }


async def _implementations(
    reader: Reader, beacons: Sequence[Address]
) -> dict[Address, tuple[Address, ...]]:
    """What each beacon names; nothing where it does not answer as a beacon does."""
    if not beacons:
        return {}
    asked = [requests.call(beacon, encode_call("implementation()")) for beacon in beacons]
    answers = await reader.settle(asked)
    return {
        # Whoever wrote the beacon may have it fail in any way: that must blind nobody.
        beacon: () if isinstance(answer, Reverted | RpcRefused) else _word(expect(answer, bytes))
        for beacon, answer in zip(beacons, answers, strict=True)
    }


def _word(answer: bytes) -> tuple[Address, ...]:
    return (_address(answer.hex()),) if len(answer) == 32 else ()


def _address(word: str) -> Address:
    return "0x" + word[-40:]
