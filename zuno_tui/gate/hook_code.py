"""The code that answers for a hook: its own, and whatever code its owner has it run instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.abi import encode_call
from chain.hooks import BEACON_SLOT, IMPLEMENTATION_SLOTS
from chain.keccak import keccak
from chain.rpc import requests
from chain.rpc.errors import Reverted

if TYPE_CHECKING:
    from chain.networks import Address
    from chain.overview import Sources
    from chain.rpc.types import BlockRef

_ADDRESS_DIGITS = 40


async def read_hook_code(sources: Sources, hook: Address, at: BlockRef) -> str | None:
    """One hash that changes with any of it; a proxy keeps its own code when it is upgraded."""
    code = await sources.client.ask(requests.code(hook, at))
    own = "0x" + keccak(code).hex() if code else None
    words = await sources.client.together(
        *(
            requests.storage(hook, "0x" + slot.hex(), at)
            for slot in (*IMPLEMENTATION_SLOTS, BEACON_SLOT)
        )
    )
    named = [_address(word) for word in words if int(word, 16)]
    if own is None or not named:
        return own
    if int(words[-1], 16):
        named.append(await _implementation_of(sources, _address(words[-1]), at))
    codes = await sources.client.together(*(requests.code(each, at) for each in named))
    content = [own, *named, *(keccak(code).hex() for code in codes)]
    return "0x" + keccak(" ".join(content).encode()).hex()


async def _implementation_of(sources: Sources, beacon: Address, at: BlockRef) -> Address:
    """What the beacon names; one that names nothing names itself."""
    try:
        answer = await sources.client.ask(
            requests.call(beacon, encode_call("implementation()"), at)
        )
    except Reverted:
        return beacon
    return _address(answer.hex()) if len(answer) == 32 else beacon


def _address(word: str) -> Address:
    return "0x" + word[-_ADDRESS_DIGITS:]
