"""What a step is called where people read it: `close #26`, `sell, open`.

Its own name (`exit`, `enter`) is what journals, approvals and JSON keep, and stays as it is there.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from chain.contracts.delegation import NOBODY
from chain.execution import protocols
from chain.execution.decode.decoder import call_name, decode
from chain.execution.plan import records
from chain.execution.plan.effects import Effect, Provision, Sale, Withdrawal
from chain.execution.plan.reading import DecodingError
from chain.execution.transaction import UnsignedTransaction
from chain.protocols.reference import position_label

_NAMES = {
    "allow Permit2": "let Permit2 move tokens",
    "allow through Permit2": "let Uniswap move tokens",
    "allow manager": "let Uniswap's position manager move tokens",
    "batch": "all in one transaction",
    "create": "open",
    "decrease": "take out",
    "delegate": "give this account batch-transaction code (EIP-7702)",
    "enter": "open",
    "exit": "close",
    "increase": "add",
    "reset allowance": "take back an allowance",
    "revoke": "take back an allowance",
    "undelegate": "take away the code that runs as this account",
    "unsubscribe": "unsubscribe",
}


def effect_title(effect: Effect) -> str:
    match effect:
        case Withdrawal(ref, ends=True):
            return f"close {position_label(ref)}"
        case Withdrawal(ref, liquidity):
            what = "take out of" if liquidity else "collect the fees of"
            return f"{what} {position_label(ref)}"
        case Provision(ref):
            return "open" if ref is None else f"add to {position_label(ref)}"
        case Sale():
            return "sell"


def step_title(transaction: UnsignedTransaction) -> str:
    """Out of its bytes, and by its name where they say nothing."""
    try:
        return call_title(decode(transaction).call) or name_title(transaction.step)
    except DecodingError:
        return name_title(transaction.step)


def name_title(name: str) -> str:
    """Where the bytes are not at hand."""
    return _NAMES.get(name, name)


_ALONE: dict[type[records.PlainCall], str] = {
    records.Deposit: "wrap",
    records.Withdraw: "unwrap",
    records.CancelOrder: "cancel the order",
    records.CancelAllOrders: "cancel every order signed so far",
}


def call_title(call: records.Call, of_effect: Callable[[Effect], str] = effect_title) -> str:
    """Empty for a call that changes nothing known here."""
    match call:
        case records.SafeExecution(calls=()):
            return "use up a nonce of the Safe"
        case records.Batch(calls) | records.SafeExecution(calls=calls):
            every = [each.call for each in calls]
            changes = [each for each in every if not _gives_right(each)]
            words = filter(None, map(call_title, changes or every))
            return ", ".join(dict.fromkeys(words))
        case records.TokenApproval() | records.Permit2Approval():
            return name_title(call_name(call))
        case records.Delegation(delegate):
            return name_title("undelegate" if delegate == NOBODY else "delegate")
        case _:
            protocol = protocols.of_call(call)
            if protocol is None:
                return _ALONE.get(type(call), "")
            dismissed = (
                f"unsubscribe {position_label(ref)}" for ref in protocol.dismissed_positions(call)
            )
            changed = listed_titles(map(of_effect, protocol.effects(call)))
            return ", ".join((*dismissed, *changed))


def _gives_right(call: records.PlainCall) -> bool:
    return isinstance(call, records.TokenApproval | records.Permit2Approval)


def listed_titles(titles: Iterable[str]) -> Iterator[str]:
    """What is done with several positions is named once: `close #26, #27`."""
    for verb, several in groupby(filter(None, titles), key=_verb_of):
        first, *more = several
        yield ", ".join((first, *filter(None, (title.removeprefix(verb) for title in more))))


def _verb_of(title: str) -> str:
    """The title without its last word, where that names a position."""
    verb, _, named = title.rpartition(" ")
    return f"{verb} " if named[:1] == "#" or named[1:2] == ":" else title
