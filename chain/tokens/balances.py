"""What a wallet holds in tokens, all of it at one block and in one request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.quantity import Known, Quantity, Unknown
from chain.contracts.abi import WORD, encode_call
from chain.contracts.networks import NATIVE, Address, Network
from chain.read.block_reader import OneBlock
from chain.rpc.multicall import Call, CallOutcome

if TYPE_CHECKING:
    from chain.rpc.client import RpcClient
    from chain.rpc.records import Block


class Balances(Struct, frozen=True):
    owner: Address
    block: Block
    held: Mapping[Address, Quantity[int]]
    """In the smallest units, for every token asked about."""


async def read_balances(
    client: RpcClient, network: Network, owner: Address, tokens: Iterable[Address]
) -> Balances:
    wanted = tuple(dict.fromkeys(tokens))
    here = OneBlock(client, network)
    answers = await here.read([balance_call(network, owner, token) for token in wanted])
    return Balances(
        owner,
        here.block,
        {
            token: balance_of(outcome, here.block)
            for token, outcome in zip(wanted, answers.outcomes, strict=True)
        },
    )


def balance_call(network: Network, owner: Address, token: Address) -> Call:
    """What to ask for the balance of a token, or of the chain's own coin."""
    if token == NATIVE:
        return Call(network.contracts.multicall3, encode_call("getEthBalance(address)", owner))
    return Call(token, encode_call("balanceOf(address)", owner))


def balance_of(outcome: CallOutcome, block: Block) -> Quantity[int]:
    """The balance such a call told."""
    # Where there is no contract a call succeeds and returns nothing.
    if not outcome.success or len(outcome.data) != WORD:
        return Unknown("its contract does not tell balances")
    amount = int.from_bytes(outcome.data, "big")
    return Known(amount, "balanceOf", block.number, float(block.timestamp))
