"""What this home remembers of contracts, held against the chain; and letting go of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from chain.contracts.addresses import checksummed, keccak
from chain.rpc import requests
from chain.rpc.errors import RpcError
from chain.tokens import forget_token, read_tokens, remembered_tokens
from zuno_tui.app.endpoint_trial import Check, CheckState
from zuno_tui.gate.contract_code import forget_code, pinned_code

if TYPE_CHECKING:
    from chain.base.store import Store
    from chain.contracts.networks import Address, Network
    from chain.positions.overview import Sources

_NAME = "memory"


async def memory_checks(sources: Sources) -> list[Check]:
    """Whether everything that was met once is still as it was."""
    try:
        wrong = [*await _changed_code(sources), *await _changed_tokens(sources)]
    except RpcError as error:
        return [Check(_NAME, CheckState.CAUTION, f"could not be compared: {error.sentence}")]
    if not wrong:
        return [Check(_NAME, CheckState.WELL, "contracts are as they were first met")]
    return [
        Check(
            _NAME,
            CheckState.BROKEN,
            f"{what} of {checksummed(address)} is not what is remembered",
            "If the chain is right, let go of what is remembered: "
            f"zuno doctor --forget {checksummed(address)}",
        )
        for address, what in wrong
    ]


async def _changed_code(sources: Sources) -> list[tuple[Address, str]]:
    pins = pinned_code(sources.store, sources.network)
    codes = await sources.client.together(*(requests.code(each, "latest") for each in pins))
    return [
        (address, "the code")
        for (address, pinned), code in zip(pins.items(), codes, strict=True)
        if "0x" + keccak(code).hex() != pinned
    ]


async def _changed_tokens(sources: Sources) -> Iterator[tuple[Address, str]]:
    known = remembered_tokens(sources.store, sources.network)
    now = await read_tokens(sources.client, sources.network, known, "latest", now=sources.clock())
    return (
        (address, "the number of decimals or the symbol")
        for address, token in known.items()
        if (token.decimals, token.symbol) != (now[address].decimals, now[address].symbol)
    )


def forget_contract(store: Store, network: Network, address: Address) -> str:
    """Let go of all that is remembered of a contract; what was, in words."""
    gone = [
        what
        for what, forget in (("its code", forget_code), ("its token's facts", forget_token))
        if forget(store, network, address)
    ]
    if not gone:
        return f"Nothing was remembered of {checksummed(address)} on {network.title}."
    return f"Forgotten of {checksummed(address)} on {network.title}: {' and '.join(gone)}."
