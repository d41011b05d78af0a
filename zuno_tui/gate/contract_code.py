"""The code of the contracts a plan calls: read at its block, held against what it is known to be.

What is shipped with zuno comes first; other contracts are held on to as they were first met.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from chain.base.store import Store
from chain.contracts.addresses import checksum, keccak, shorten_address
from chain.contracts.delegation import DELEGATION_MANAGER, NONCES, delegates_on
from chain.contracts.networks import NATIVE, Address, Network, shipped_code_hashes
from chain.execution import protocols
from chain.positions.overview import Sources
from chain.rpc import requests
from chain.rpc.records import BlockRef
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode


class CodeHashes(NamedTuple):
    now: Mapping[Address, str]
    pinned: Mapping[Address, str]
    """As shipped, or as they were when this home first met each contract."""
    shipped: frozenset[Address]
    first_met: frozenset[Address]
    """Those that nothing was known of before this very reading."""


def refuse_other_protocol(network: Network, codes: CodeHashes) -> None:
    """Uniswap's own contracts are fixed for good, whether a transaction names them or not."""
    for address, name in _protocol(network).items():
        if codes.now.get(address) != codes.pinned.get(address):
            raise GateRefusedError(
                f"The code of {name} at {checksum(address)} is not the known code. "
                "Nothing was signed. Ask another endpoint: --rpc URL, or see: zuno doctor",
                RefusalCode.CONTRACT_CODE,
            )


def trust_words(network: Network, codes: CodeHashes) -> tuple[str, ...]:
    """On what grounds each contract's code is trusted, for people."""
    names = _protocol(network)
    names |= {each.address: each.name for each in delegates_on(network)}
    if network.contracts.delegate is not None:
        names[DELEGATION_MANAGER], names[NONCES] = "DelegationManager", "its nonces"

    def name_all(addresses: Iterable[Address]) -> str:
        return ", ".join(names.get(each, shorten_address(each)) for each in addresses)

    same = [each for each in codes.pinned if codes.now[each] == codes.pinned[each]]
    evaluations = {
        "as shipped with zuno": [each for each in same if each in codes.shipped],
        "as first seen from this home": [
            each for each in same if each not in codes.shipped | codes.first_met
        ],
        "seen for the first time, and trusted from now on": [
            each for each in same if each in codes.first_met
        ],
    }
    words = [f"Code {why}: {name_all(which)}." for why, which in evaluations.items() if which]
    words += [
        f"Code of {checksum(each)} has changed since it was first seen. If that is right, "
        f"forget what was stored: zuno doctor --forget {checksum(each)}"
        for each in codes.pinned
        if each not in same
    ]
    return tuple(words)


def _protocol(network: Network) -> dict[Address, str]:
    """Every protocol's own contracts by name; the first names what several share."""
    named: dict[Address, str] = {}
    for protocol in protocols.ALL:
        named = protocol.contracts(network) | named
    return named


def called_contracts(
    network: Network,
    led_to: Iterable[Address],
    *,
    lent: Iterable[Address] = (),
    of: Iterable[str] = (),
) -> tuple[Address, ...]:
    """Everything a plan's transactions call or lead to: the protocols it is of, its tokens and
    hooks, and what an account runs that is lent to one of the delegates."""
    run = {each.address: each.orders for each in delegates_on(network) if each.address in lent}
    lending = (*run, *(() if True not in run.values() else (DELEGATION_MANAGER, NONCES)))
    # What is of no protocol is held to the first one's, as every plan was before there were two.
    used = [protocols.reader_named(name) for name in dict.fromkeys(of)] or [protocols.ALL[0]]
    own = [address for protocol in used for address in protocol.contracts(network)]
    candidates = (*own, *led_to, *lending)
    return tuple(dict.fromkeys(each for each in candidates if each != NATIVE))


async def read_code_hashes(
    sources: Sources, addresses: Iterable[Address], at: BlockRef, *, pins: Store
) -> CodeHashes:
    """The code of each now, and as it is known: as shipped, else as pinned when first met.

    What is met for the first time is put into the sources' own store; a contract without code is
    never pinned.
    """
    wanted = list(dict.fromkeys(addresses))
    codes = await sources.client.together(*(requests.code(each, at) for each in wanted))
    now = {
        address: "0x" + keccak(code).hex()
        for address, code in zip(wanted, codes, strict=True)
        if code
    }
    namespace = _namespace(sources.network)
    shipped = shipped_code_hashes(sources.network)
    known = {**pins.get_many(namespace, now), **shipped}
    met = {address: seen for address, seen in now.items() if address not in known}
    sources.store.put_many(namespace, met, now=sources.clock())
    pinned = {address: str(known.get(address, seen)) for address, seen in now.items()}
    return CodeHashes(now, pinned, frozenset(shipped) & now.keys(), frozenset(met))


def pinned_code(store: Store, network: Network) -> dict[Address, str]:
    """Every contract of a network that is pinned as it was first met."""
    return {address: str(seen) for address, seen in store.items(_namespace(network)).items()}


def forget_code(store: Store, network: Network, address: Address) -> bool:
    """Whether there was anything to forget."""
    return store.forget_key(_namespace(network), address)


def _namespace(network: Network) -> str:
    return f"contract-code-{network.chain_id}"
