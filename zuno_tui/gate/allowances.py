"""What a wallet has allowed and not taken back: to Permit2, and through it to other contracts."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from chain.base.units import Units
from chain.contracts.networks import Address, Network
from chain.execution import protocols
from chain.execution.chain_facts import read_allowances
from chain.execution.plan.facts import TokenAllowances
from chain.positions.overview import Sources
from chain.read.block_reader import OneBlock
from chain.tokens import listed_tokens


class GivenAllowance(Struct, frozen=True):
    """One allowance that can be used now."""

    token: Address
    spender: Address
    spender_name: str
    through_permit2: bool
    amount: Units
    expiration: int | None
    """None for a token's own, which never ends by itself."""


def spenders(network: Network) -> dict[Address, str]:
    """The contracts a plan may ever let move tokens, and what people call them."""
    contracts = network.contracts
    named = {contracts.permit2: "Permit2", contracts.position_manager: "PositionManager"}
    for protocol in protocols.ALL:
        called = protocol.contracts(network)
        movers = (protocol.manager(network), protocol.router(network))
        named |= {each: called[each] for each in movers if each is not None}
    return named


async def read_given(
    sources: Sources, wallet: Address, tokens: Iterable[Address]
) -> tuple[GivenAllowance, ...]:
    """All that is still allowed of these tokens; what has expired is not."""
    here = OneBlock(sources.client, sources.network)
    found = await read_allowances(here, sources.network, wallet, tuple(tokens))
    return allowances_given(sources.network, found, here.block.timestamp)


def allowances_given(
    network: Network, found: Mapping[Address, TokenAllowances], now: int
) -> tuple[GivenAllowance, ...]:
    """Of what was read, all that can be used at this time."""
    names, permit2 = spenders(network), network.contracts.permit2
    given = []
    for token, there in found.items():
        if there.to_permit2:
            given.append(
                GivenAllowance(token, permit2, names[permit2], False, there.to_permit2, None)
            )
        given.extend(
            GivenAllowance(token, spender, names[spender], False, amount, None)
            for spender, amount in there.direct.items()
            if amount
        )
        for spender, allowance in there.through_permit2.items():
            if allowance.amount and allowance.expiration >= now:
                ends = allowance.expiration
                given.append(
                    GivenAllowance(token, spender, names[spender], True, allowance.amount, ends)
                )
    return tuple(given)


def known_tokens(sources: Sources, wallet: Address) -> tuple[Address, ...]:
    """Those the network is known for, and those of the positions the wallet was seen with."""
    listed = (item.token.address for item in listed_tokens(sources.network).tokens)
    memory = sources.memory
    held = {ref for holdings in memory.checkpoints(wallet) for ref in holdings.held}
    seen = memory.identities(held)
    pairs = (identity.pool_key for identity in seen.values())
    return tuple(
        dict.fromkeys(
            (*listed, *(token for key in pairs for token in (key.currency0, key.currency1)))
        )
    )
