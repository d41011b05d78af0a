"""What a step is called where people read it: `close #26`, `sell, open`.

Its own name (`exit`, `enter`) is what journals, approvals and JSON keep, and stays as it is there.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from chain.contracts.delegation import NOBODY
from chain.execution.decode import records
from chain.execution.decode.decoder import DecodingError, decode
from chain.execution.decode.parties import actions_of
from chain.execution.transaction import UnsignedTransaction

_NAMES = {
    "allow Permit2": "let Permit2 move tokens",
    "allow through Permit2": "let Uniswap move tokens",
    "batch": "all in one transaction",
    "create": "open",
    "decrease": "take out",
    "delegate": "let the batch executor run as this account",
    "enter": "open",
    "exit": "close",
    "increase": "add",
    "reset allowance": "take back an allowance",
    "revoke": "take back an allowance",
    "undelegate": "take away the code that runs as this account",
    "unsubscribe": "dismiss the subscriber",
}


def action_title(action: records.Action) -> str:
    """Empty for what only settles what another action did."""
    match action:
        case records.DecodedBurn(token_id):
            return f"close #{token_id}"
        case records.DecodedDecrease(token_id, liquidity):
            return f"take out of #{token_id}" if liquidity else f"collect the fees of #{token_id}"
        case records.DecodedIncrease(token_id):
            return f"add to #{token_id}"
        case records.DecodedMint():
            return "open"
        case records.DecodedSwapExactIn():
            return "sell"
        case _:
            return ""


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


def call_title(
    call: records.Call, of_action: Callable[[records.Action], str] = action_title
) -> str:
    """Empty for a call that changes nothing known here."""
    match call:
        case records.Batch(calls):
            every = [each.call for each in calls]
            changes = [each for each in every if not _gives_right(each)]
            words = filter(None, map(call_title, changes or every))
            return ", ".join(dict.fromkeys(words))
        case records.TokenApproval(amount=amount):
            return name_title("allow Permit2" if amount else "revoke")
        case records.Permit2Approval(amount=amount):
            return name_title("allow through Permit2" if amount else "revoke")
        case records.Delegation(delegate):
            return name_title("undelegate" if delegate == NOBODY else "delegate")
        case _:
            inner = call.calls if isinstance(call, records.Multicall) else (call,)
            dismissed = (
                f"dismiss the subscriber of #{each.token_id}"
                for each in inner
                if isinstance(each, records.Unsubscribe)
            )
            changed = listed_titles(map(of_action, actions_of(call)))
            return ", ".join((*dismissed, *changed)) or _ALONE.get(type(call), "")


def _gives_right(call: records.PlainCall) -> bool:
    return isinstance(call, records.TokenApproval | records.Permit2Approval)


def listed_titles(titles: Iterable[str]) -> Iterator[str]:
    """What is done with several positions is named once: `close #26, #27`."""
    for verb, several in groupby(filter(None, titles), key=lambda title: title.partition("#")[0]):
        first, *more = several
        yield ", ".join((first, *filter(None, (title.removeprefix(verb) for title in more))))
