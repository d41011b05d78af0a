"""The facts building rests on, read at one block in one request beside the price of gas."""

from collections.abc import Sequence

from chain.base.units import Unknown
from chain.contracts.abi import decode, encode_call
from chain.contracts.delegation import delegate_in
from chain.contracts.networks import NATIVE, Address, Network
from chain.execution import protocols
from chain.execution.plan.facts import (
    ChainFacts,
    FactsUnknownError,
    FeeCaps,
    Lender,
    SpenderAllowance,
    TokenAllowances,
)
from chain.read.block_reader import OneBlock, expect
from chain.read.gas import read_gas_price
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.records import Block
from chain.rpc.requests import Call, CallOutcome
from chain.tokens.reading import balance_call, balance_of

_FEE_HEADROOM = 2
"""A base fee may rise by an eighth a block: twice lasts for five full blocks."""


async def read_chain_facts(
    client: RpcClient, network: Network, sender: Address, tokens: Sequence[Address], at: Block
) -> ChainFacts:
    """What the sender holds and has allowed of these tokens, and what gas costs, at this block."""
    here = OneBlock(client, network, at.hash)
    erc20 = [token for token in dict.fromkeys(tokens) if token != NATIVE]
    calls = [balance_call(network, sender, token) for token in (NATIVE, *erc20)]
    allowances = _allowance_calls(network, sender, erc20)
    nonce = requests.transaction_count(sender, at.hash)
    answers = await here.read([*calls, *allowances], [nonce])
    price = await read_gas_price(client, at.number)
    if isinstance(price, Unknown):
        raise FactsUnknownError(f"What gas costs is unknown: {price.reason}.")
    held, granted = answers.outcomes[: len(calls)], answers.outcomes[len(calls) :]
    base = price.value.base_fee or 0
    return ChainFacts(
        network=network,
        sender=sender,
        head_time=at.timestamp,
        nonce=expect(answers.beside[0], int),
        fees=FeeCaps(
            max_fee_per_gas=_FEE_HEADROOM * base + price.value.priority_fee,
            max_priority_fee_per_gas=price.value.priority_fee,
        ),
        balances={
            token: _balance(outcome, at)
            for token, outcome in zip((NATIVE, *erc20), held, strict=True)
        },
        allowances=_allowances(network, erc20, granted),
    )


async def read_allowances(
    here: OneBlock, network: Network, owner: Address, tokens: Sequence[Address]
) -> dict[Address, TokenAllowances]:
    """What the owner lets Permit2 move of these tokens, and others through it."""
    erc20 = [token for token in dict.fromkeys(tokens) if token != NATIVE]
    answers = await here.read(_allowance_calls(network, owner, erc20))
    return _allowances(network, erc20, answers.outcomes)


def _spenders(network: Network) -> tuple[Address, ...]:
    """Who moves tokens through Permit2."""
    named = [network.contracts.position_manager]
    named += [router for each in protocols.ALL if (router := each.router(network)) is not None]
    return tuple(dict.fromkeys(named))


def _allowance_calls(network: Network, owner: Address, tokens: Sequence[Address]) -> list[Call]:
    permit2 = network.contracts.permit2
    calls = []
    for token in tokens:
        calls.append(Call(token, encode_call("allowance(address,address)", owner, permit2)))
        for spender in _spenders(network):
            through = encode_call("allowance(address,address,address)", owner, token, spender)
            calls.append(Call(permit2, through))
        for spender in protocols.direct_spenders(network):
            calls.append(Call(token, encode_call("allowance(address,address)", owner, spender)))
    return calls


def _balance(outcome: CallOutcome, at: Block) -> int:
    held = balance_of(outcome, at)
    if isinstance(held, Unknown):
        raise FactsUnknownError(f"A balance is unknown: {held.reason}.")
    return held.value


def _allowances(
    network: Network, tokens: Sequence[Address], outcomes: Sequence[CallOutcome]
) -> dict[Address, TokenAllowances]:
    each = 1 + len(_spenders(network)) + len(protocols.direct_spenders(network))
    return {
        token: _allowances_of(outcomes[index * each : (index + 1) * each], network)
        for index, token in enumerate(tokens)
    }


def _allowances_of(outcomes: Sequence[CallOutcome], network: Network) -> TokenAllowances:
    spenders, direct = _spenders(network), protocols.direct_spenders(network)
    to_permit2, *rest = outcomes
    through, own = rest[: len(spenders)], rest[len(spenders) :]
    granted = {}
    for spender, outcome in zip(spenders, through, strict=True):
        amount, expiration, _nonce = decode(("uint160", "uint48", "uint48"), outcome.data)
        granted[spender] = SpenderAllowance(amount, expiration)
    given = {each: _word(outcome) for each, outcome in zip(direct, own, strict=True)}
    return TokenAllowances(_word(to_permit2), granted, given)


def _word(outcome: CallOutcome) -> int:
    return int.from_bytes(outcome.data[:32], "big")


async def read_lender(client: RpcClient, account: Address, at: str) -> Lender:
    nonce, code = await client.together(
        requests.transaction_count(account, at), requests.code(account, at)
    )
    return Lender(account, nonce, delegate_in(code), bool(code))
