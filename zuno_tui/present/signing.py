"""What a signature gives to whom, until when and at what cost, all of it out of the bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from chain.base.units import time_text
from chain.contracts.addresses import checksum, shorten_address
from chain.contracts.delegation import (
    DELEGATION_MANAGER,
    ENTRY_POINT,
    NOBODY,
    SIMPLE_ACCOUNT,
    delegates_on,
)
from chain.contracts.networks import Address, Network
from chain.execution.build.gas_bill import GasBill
from chain.execution.decode.parties import Parties
from chain.execution.decode.titles import name_title
from chain.execution.decode.words import names_on
from chain.execution.plan.names import Names
from chain.execution.simulate import Simulation
from chain.tokens import Token
from zuno_tui.present.views import SENT_AS, UNDOING
from zuno_tui.present.words import most_coin, signed_amount

if TYPE_CHECKING:
    from zuno_tui.gate.apply import WaitingApproval


GAS_EXCEEDS = "Gas may cost more than this moves or earns."


class Term(NamedTuple):
    label: str
    words: str


def recipients(parties: Parties) -> tuple[str, ...]:
    """Whoever the bytes give tokens or a position to, as addresses with a checksum."""
    return tuple(map(checksum, parties.recipients))


def terms(
    network: Network,
    parties: Parties,
    gas: GasBill,
    tokens: Mapping[Address, Token],
    *,
    could_be_one: bool = False,
) -> tuple[Term, ...]:
    """Everything besides the recipients: who may move tokens, what is called, until when."""
    names = names_on(network, parties.sender, tokens)
    return (*_sent_as(parties, could_be_one=could_be_one), *_terms(names, network, parties, gas))


def could_be_one(network: Network, parties: Parties, account_code: str | None) -> bool:
    """Whether several transactions would be one, were the account delegated."""
    known = delegates_on(network)
    return parties.transactions > 1 and bool(known) and account_code is None


def executor(network: Network, parties: Parties) -> str:
    """The contract that carries out steps as one: no batch is built for another's delegation."""
    form = parties.batch_form
    delegate = next((each for each in delegates_on(network) if each.form == form), None)
    if delegate is None:
        return ""
    return f"{checksum(delegate.address)} ({delegate.name.removeprefix('the ')})"


def _sent_as(parties: Parties, *, could_be_one: bool) -> Iterator[Term]:
    if parties.batched:
        steps = f"{parties.batched} step{'s' * (parties.batched > 1)}"
        yield Term(SENT_AS, f"1 transaction, {steps}, all or nothing")
    elif parties.transactions > 1:
        once = "; as one, all or nothing, after: wallet delegate" if could_be_one else ""
        yield Term(SENT_AS, f"{parties.transactions} transactions, one after the other{once}")


def _terms(names: Names, network: Network, parties: Parties, gas: GasBill) -> Iterator[Term]:
    if parties.lender:
        yield Term("account", f"{checksum(parties.lender)}: its own key signs that it is lent")
    whom = f" --for {checksum(parties.lender)}" if parties.lender else ""
    undoing = f"undelegate{whom}"
    for delegate in parties.lent_to:
        if delegate != NOBODY:
            whose = "that account" if parties.lender else "this account"
            yield Term("runs", f"{_named(names, delegate)} as {whose}, on this network only")
            if delegate == SIMPLE_ACCOUNT.address:
                yield Term(
                    "who else",
                    f"its EntryPoint {shorten_address(SIMPLE_ACCOUNT.entry_point)} could act for "
                    "the account, but only with a signature of your key; zuno never signs one "
                    "for it",
                )
                yield Term("orders", "none: this code lets no watch key act")
                yield Term(UNDOING, undoing)
                continue
            yield Term(
                "who else",
                f"its EntryPoint {shorten_address(ENTRY_POINT)} and DelegationManager "
                f"{shorten_address(DELEGATION_MANAGER)} could act for the account, but only with a "
                "signature of your key; zuno never signs one for the EntryPoint",
            )
            yield Term("pause", "MetaMask can pause orders, never your own transactions")
            yield Term(UNDOING, undoing)
    if parties.spenders:
        yield Term("spender", ", ".join(_named(names, each) for each in parties.spenders))
    yield Term("calls", ", ".join(_named(names, each) for each in parties.called))
    if parties.deadlines:
        yield Term("deadline", " and ".join(map(time_text, parties.deadlines)))
    if parties.expirations:
        yield Term("expires", " and ".join(map(time_text, parties.expirations)))
    yield Term("gas", f"at most {most_coin(gas.total)} {network.native_symbol}")


def _named(names: Names, address: Address) -> str:
    """A contract of Uniswap's or a listed token by its name; anybody else in full."""
    token = names.tokens.get(address)
    known = names.contracts.get(address, "").removeprefix("the ")
    if token is not None and token.verified:
        known = token.symbol
    return f"{known} {shorten_address(address)}" if known else checksum(address)


def outcome_lines(waiting: WaitingApproval) -> Iterator[str]:
    """What comes of it by the trial made just now, and on whose word all of it rests."""
    yield from (f"! {warning}" for warning in waiting.approval.warnings)
    if waiting.approval.gas_exceeds:
        yield f"! {GAS_EXCEEDS}"
    yield from trial_lines(
        waiting.judgment.basis.simulation, waiting.tokens, tried="Tried just now"
    )
    if waiting.dispatch.private_host is not None:
        yield f"Sent through {waiting.dispatch.private_host} alone."
    yield waiting.judgment.agreement.words


def trial_lines(
    simulation: Simulation, tokens: Mapping[Address, Token], *, tried: str = "Tried"
) -> Iterator[str]:
    """What the wallet would hold more or less of; where not all could be tried, what was."""
    changes = simulation.all_changes(tokens)
    if changes is None:
        done = ", ".join(name_title(step.step) for step in simulation.steps)
        later = ", ".join(map(name_title, simulation.unsimulated)) or "nothing"
        yield f"{tried} by {simulation.method}: {done}. Not tried yet: {later}."
        if simulation.reason is not None:
            yield f"By {simulation.method}, because: {simulation.reason}"
        return
    yield f"{tried} by {simulation.method}, the wallet would see:"
    for token, amount in changes.items():
        if amount:
            yield f"  {signed_amount(amount, tokens[token])} {tokens[token].label}"
    if not any(changes.values()):
        yield "  no change"
