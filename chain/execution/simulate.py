"""What a sequence of transactions would do: run on a node against the state of one block.

`eth_simulateV1` runs the whole sequence and tells every transfer. A token can tell of more than it
moved, so what the sender holds of the plan's own tokens is read between the steps. Where a node
lacks it, forbids it or fails at it, the first step alone is tried by `eth_call`, and the rest is
said to be unsimulated.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field

from chain.base.clean_text import quote_words
from chain.base.units import Units
from chain.contracts.abi import WORD, AbiError, decode, encode_call, selector, topic
from chain.contracts.addresses import shorten_address
from chain.contracts.delegation import NOBODY
from chain.contracts.networks import NATIVE, Address
from chain.execution.decode.titles import name_title
from chain.execution.transaction import UnsignedTransaction
from chain.rpc import records, requests
from chain.rpc.errors import ErrorKind, Reverted, RpcError, RpcRefused, TimedOut
from chain.rpc.records import AccountOverride, BlockRef, Json, StateOverride
from chain.rpc.requests import Reader, Request, state_block
from chain.rpc.wire import revert_data, revert_reason

Telling = Callable[[tuple[Any, ...], int], str]

# Each is a clause that goes on from "it fails:"; nothing a contract says in its own words is
# shown unquoted.
_SELECTOR = 4
_DEEPEST = 3
"""An error may be wrapped in an error; further down nobody looks."""


def refusal_words(data: bytes, depth: int = 0) -> str:
    said = quote_words(revert_reason(data))
    if said:
        return f"the contract says: {said}"
    if not data:
        return "the contract refuses"
    known = _known_errors().get(data[:_SELECTOR])
    if known is not None and depth < _DEEPEST:
        types, tell = known
        if isinstance(tell, str):
            return tell
        try:
            return tell(decode(types, data[_SELECTOR:]), depth)
        except AbiError:
            pass
    return f"the contract refuses with error 0x{data[:_SELECTOR].hex()}"


@cache
def _known_errors() -> Mapping[bytes, tuple[tuple[str, ...], Telling | str]]:
    """By selector: what an error carries, and how it is told."""
    amounts = ("uint128", "uint128")
    errors: dict[tuple[str, tuple[str, ...]], Telling | str] = {
        **_SENTENCES,
        ("WrappedError", ("address", "bytes4", "bytes", "bytes")): _wrapped,
        ("ExecutionFailed", ("uint256", "bytes")): _inner,
        ("MinimumAmountInsufficient", amounts): _too_little_paid,
        ("MaximumAmountExceeded", amounts): _too_much_taken,
        ("V4TooLittleReceived", ("uint256", "uint256")): _swap_pays_too_little,
    }
    return {
        selector(f"{name}({','.join(types)})"): (types, tell)
        for (name, types), tell in errors.items()
    }


_ONE_ADDRESS, _ONE_NUMBER = ("address",), ("uint256",)
_LATE = "its deadline has passed; approve it again"
_NOT_ALLOWED = (
    "it needs more of a token than Permit2 lets it move, as when a hook keeps a part of what comes "
    "out; approve it again"
)
_TOO_LITTLE_THERE = (
    "less of a token is there than it needs, as with one that keeps a part of every transfer"
)
_SENTENCES: Mapping[tuple[str, tuple[str, ...]], str] = {
    ("CurrencyNotSettled", ()): (
        "less of a token arrives than is sent: it keeps a part of every transfer, "
        "and no position can be opened with it"
    ),
    ("SafeCastOverflow", ()): (
        "the pool's hook asks for more than the position pays out; "
        "see what it may do: zuno inspect ID"
    ),
    ("InsufficientToken", ()): _TOO_LITTLE_THERE,
    ("InsufficientBalance", ()): _TOO_LITTLE_THERE,
    ("BalanceTooLow", ()): _TOO_LITTLE_THERE,
    ("DeadlinePassed", _ONE_NUMBER): _LATE,
    ("TransactionDeadlinePassed", ()): _LATE,
    ("AllowanceExpired", _ONE_NUMBER): _NOT_ALLOWED,
    ("InsufficientAllowance", _ONE_NUMBER): _NOT_ALLOWED,
    ("NotApproved", _ONE_ADDRESS): "the wallet may not change this position; see who owns it",
    ("PoolNotInitialized", ()): "the pool does not exist; make a new plan",
}

_TOKEN_ERRORS = ("ERC20TransferFailed()", "NativeTransferFailed()")
_SUBSCRIBER_ERRORS = (
    "ModifyLiquidityNotificationReverted(address,bytes)",
    "BurnNotificationReverted(address,bytes)",
)


def _wrapped(values: tuple[Any, ...], _depth: int) -> str:
    """What another contract refused, told by who it is; a pool asks its hook most of all."""
    target, _, reason, details = values
    who, kind = shorten_address(target), details[:_SELECTOR]
    said = quote_words(revert_reason(reason))
    saying = f" (it says: {said})" if said else ""
    if kind in map(selector, _TOKEN_ERRORS):
        return (
            f"the token {who} cannot be moved as asked{saying}; "
            "it may be paused, shut you out, or keep a part of every transfer"
        )
    if kind in map(selector, _SUBSCRIBER_ERRORS):
        return f"the position's subscriber {who} refuses it{saying}; dismiss it first"
    return (
        f"the pool's hook {who} refuses it{saying}; "
        "only whoever runs the hook can change that, so try again later"
    )


def _inner(values: tuple[Any, ...], depth: int) -> str:
    return refusal_words(values[1], depth + 1)


def _too_little_paid(values: tuple[Any, ...], _depth: int) -> str:
    return (
        f"it would pay {_less(values)} than the least that is asked for: the price has moved, "
        "or the pool's hook keeps a part; see what the hook may do: zuno inspect ID"
    )


def _too_much_taken(values: tuple[Any, ...], _depth: int) -> str:
    most, asked = values
    return (
        f"it would take {asked} units where at most {most} may be taken: the price has moved, "
        "or the pool's hook takes a part; approve it again"
    )


def _swap_pays_too_little(values: tuple[Any, ...], _depth: int) -> str:
    return (
        f"the swap would pay {_less(values)} than the least that is asked for: the price or the "
        "fee has moved, or a hook keeps a part; approve it again"
    )


def _less(values: tuple[Any, ...]) -> str:
    least, paid = values
    return f"{(1 - paid / least) * 100:.2f}% less" if least else "less"


TRANSFER = topic("Transfer(address,address,uint256)")
INCREASED = topic("IncreaseLiquidity(uint256,uint128,uint256,uint256)")
# Where `traceTransfers` reports moves of the chain's own coin.
_COIN = "0x" + "ee" * 20
_NOT_OF_THE_METHOD = frozenset(
    (
        ErrorKind.WRONG_CHAIN,
        ErrorKind.STALE_HEAD,
        ErrorKind.REORGED,
        ErrorKind.NO_ENDPOINT,
        ErrorKind.STATE_PRUNED,
        ErrorKind.BLOCK_MISSING,
    )
)
"""What another method at the same endpoint would say as well."""
_TRANSACTION_CODES = range(-38026, -38009)
"""What `eth_simulateV1` itself says of transactions that cannot be run at all."""
_TRANSACTION_WORDS = re.compile(
    r"insufficient funds|intrinsic gas|nonce too|max fee per gas|gas limit", re.IGNORECASE
)
_UNKNOWN_OPCODE = re.compile(r"invalid opcode: (PUSH0|MCOPY|TLOAD|TSTORE|BLOBHASH|BLOBBASEFEE|CLZ)")
"""Some simulators run an older machine than their chain; the contracts are not to blame."""
_LOOKING_GAS = 200_000


class StepOutcome(Struct, frozen=True):
    step: str
    success: bool
    gas_used: int
    changes: Mapping[Address, Units]
    """What the sender holds more (or less) of afterwards, by token; gas is not in it."""
    failure: str | None
    """Why it would be refused, in words."""
    untold: Mapping[Address, Units] = field(default_factory=dict)
    """How far what arrived of a token is from what its events tell; nothing where they agree."""
    made: tuple[tuple[Address, Units], ...] = ()
    """Liquidity as managers tell of it who make what they can of amounts, in the order of it."""


class Simulation(Struct, frozen=True):
    method: Literal["eth_simulateV1", "eth_call"]
    steps: tuple[StepOutcome, ...]
    unsimulated: tuple[str, ...]
    """Steps nobody could try yet."""
    reason: str | None = None
    """Why it was not `eth_simulateV1`, where it was not."""

    @property
    def success(self) -> bool:
        return all(step.success for step in self.steps)

    @property
    def whole(self) -> bool:
        """Whether the sequence was run as one, with what each step changes."""
        return self.method == "eth_simulateV1"

    def all_changes(self, tokens: Iterable[Address]) -> dict[Address, int] | None:
        """By token what all steps change together; None where not all of them could be tried."""
        if not self.whole:
            return None
        return {token: sum(step.changes.get(token, 0) for step in self.steps) for token in tokens}

    def liquidity_made(self, managers: Collection[Address]) -> tuple[int, ...]:
        """In the order it was made in: what others than these tell is anybody's word."""
        told = (each for step in self.steps for each in step.made)
        return tuple(liquidity for manager, liquidity in told if manager in managers)


async def simulate(
    reader: Reader,
    transactions: Sequence[UnsignedTransaction],
    at: BlockRef,
    tokens: Sequence[Address] = (),
) -> Simulation:
    """Try these transactions one after the other on the state of a block.

    Of `tokens` the changes are measured by what the sender holds, of others told by events.
    """
    try:
        tried = await _ask_twice(reader, _simulation(transactions, at, tokens))
    except RpcError as error:
        if error.kind in _NOT_OF_THE_METHOD:
            raise
        alone = await _first_alone(reader, transactions, at, error.sentence)
        if alone.success and _is_about_transactions(error):
            raise
        return alone
    if tried.unknown_opcode is not None:
        reason = f"eth_simulateV1 there does not know {tried.unknown_opcode}, which the chain does."
        return await _first_alone(reader, transactions, at, reason)
    if not tried.steps[0].success:
        name = name_title(tried.steps[0].step)
        reason = f"eth_simulateV1 there says that {name} fails, eth_call that it does not."
        alone = await _first_alone(reader, transactions, at, reason)
        if alone.success:
            return alone
    return Simulation("eth_simulateV1", tried.steps, ())


async def simulate_whole(
    readers: Sequence[Reader],
    transactions: Sequence[UnsignedTransaction],
    at: BlockRef,
    tokens: Sequence[Address],
) -> Simulation:
    """The trial of the first reader that runs the whole sequence to its end.

    Where nobody does: one that tells what fails, else what the first can tell.
    """
    first, *others = readers
    failed: RpcError | None = None
    trials = []
    try:
        trials.append(await simulate(first, transactions, at, tokens))
    except RpcError as error:
        failed = error
    for reader in others:
        if any(trial.whole and trial.success for trial in trials):
            break
        with suppress(RpcError):
            trials.append(await simulate(reader, transactions, at, tokens))
    best = sorted(trials, key=lambda trial: (not trial.whole, not trial.success))
    if failed is not None and not (best and best[0].whole):
        raise failed
    return best[0]


async def _ask_twice(reader: Reader, simulation: Request[_Tried]) -> _Tried:
    """Once more where a busy endpoint took too long: without it nobody knows the outcome."""
    try:
        return await reader.ask(simulation)
    except TimedOut:
        return await reader.ask(simulation)


async def _first_alone(
    reader: Reader, transactions: Sequence[UnsignedTransaction], at: BlockRef, reason: str
) -> Simulation:
    first, *rest = transactions
    try:
        await reader.ask(
            requests.call(
                first.to,
                first.data,
                at,
                sender=first.sender,
                value=first.value,
                gas=first.gas,
                state_override=_taken_back(transactions),
            )
        )
    except Reverted as error:
        outcome = StepOutcome(first.step, False, 0, {}, refusal_words(error.data))
    else:
        outcome = StepOutcome(first.step, True, 0, {}, None)
    return Simulation(
        "eth_call", (outcome,), tuple(transaction.step for transaction in rest), reason
    )


def _is_about_transactions(error: RpcError) -> bool:
    """Whether the method was carried out and the transactions were what it refused."""
    return isinstance(error, Reverted) or (
        isinstance(error, RpcRefused)
        and (error.code in _TRANSACTION_CODES or bool(_TRANSACTION_WORDS.search(error.message)))
    )


class _Tried(NamedTuple):
    steps: tuple[StepOutcome, ...]
    unknown_opcode: str | None


def _simulation(
    transactions: Sequence[UnsignedTransaction], at: BlockRef, tokens: Sequence[Address]
) -> Request[_Tried]:
    measured = [token for token in dict.fromkeys(tokens) if token != NATIVE and transactions]
    looks = [_look(token, transactions[0].sender) for token in measured]
    group = 1 + len(looks)
    calls: list[Json] = [
        *looks,
        *(call for transaction in transactions for call in (_call(transaction), *looks)),
    ]
    pretended = requests.written_override(_taken_back(transactions))
    block: dict[str, Json] = {"calls": calls}
    asked: Json = {
        "blockStateCalls": [{**block, "stateOverrides": pretended} if pretended else block],
        "traceTransfers": True,
        "validation": False,
    }

    def parse(value: object) -> _Tried:
        blocks = records.items(value)
        answers = records.items(records.fields(blocks[0]).get("calls")) if len(blocks) == 1 else ()
        if len(answers) != len(calls):
            raise records.InvalidValueError("another number of calls than was simulated")
        before, rest = _held(measured, answers[: len(looks)]), answers[len(looks) :]
        outcomes, opcode = [], None
        for place, transaction in enumerate(transactions):
            answer, *looked = rest[place * group : (place + 1) * group]
            after = _held(measured, looked)
            outcomes.append(_outcome(transaction, answer, before, after))
            opcode = opcode or _unknown_opcode(answer)
            before = after
        return _Tried(tuple(outcomes), opcode)

    return Request(
        "eth_simulateV1", (asked, state_block(at)), parse, block_param=1, dispensable=True
    )


def _taken_back(transactions: Sequence[UnsignedTransaction]) -> StateOverride:
    """An account that is taken back runs no code any more when the rest is carried out."""
    first = transactions[0]
    given = first.authorization
    if given is None or given.delegate != NOBODY:
        return {}
    return {given.lender or first.sender: AccountOverride(code=b"")}


def _unknown_opcode(answer: object) -> str | None:
    message = records.fields(records.fields(answer).get("error") or {}).get("message")
    found = _UNKNOWN_OPCODE.search(message) if isinstance(message, str) else None
    return None if found is None else found[1]


def _look(token: Address, holder: Address) -> dict[str, Json]:
    data = encode_call("balanceOf(address)", holder)
    return {"from": holder, "to": token, "input": "0x" + data.hex(), "gas": hex(_LOOKING_GAS)}


def _held(tokens: Sequence[Address], answers: Sequence[object]) -> dict[Address, int]:
    """What is held of each token that answers."""
    held = {}
    for token, value in zip(tokens, answers, strict=True):
        call = records.fields(value)
        returned = records.data(call.get("returnData") or "0x")
        if records.quantity(call.get("status")) == 1 and len(returned) == WORD:
            held[token] = int.from_bytes(returned, "big")
    return held


def _call(transaction: UnsignedTransaction) -> dict[str, Json]:
    return {
        "from": transaction.sender,
        "to": transaction.to,
        "value": hex(transaction.value),
        "input": "0x" + transaction.data.hex(),
        "gas": hex(transaction.gas),
    }


def _outcome(
    transaction: UnsignedTransaction,
    value: object,
    before: Mapping[Address, int],
    after: Mapping[Address, int],
) -> StepOutcome:
    call = records.fields(value)
    success = records.quantity(call.get("status")) == 1
    failure = None
    if not success:
        error = records.fields(call.get("error") or {})
        returned = revert_data(error.get("data")) or records.data(call.get("returnData") or "0x")
        failure = refusal_words(returned)
    logs = records.items(call.get("logs") or []) if success else ()
    told = _changes(transaction.sender, logs)
    measured = {token: after[token] - held for token, held in before.items() if token in after}
    changes = {token: amount for token, amount in {**told, **measured}.items() if amount}
    return StepOutcome(
        step=transaction.step,
        success=success,
        gas_used=records.small_quantity(call.get("gasUsed")),
        changes=changes,
        failure=failure,
        untold={
            token: amount - told.get(token, 0)
            for token, amount in measured.items()
            if amount != told.get(token, 0)
        },
        made=tuple(_made(logs)),
    )


def _made(logs: Iterable[object]) -> Iterator[tuple[Address, int]]:
    for value in logs:
        log = records.fields(value)
        topics, data = records.items(log.get("topics")), records.data(log.get("data"))
        if len(topics) == 2 and topics[0] == INCREASED and len(data) == 3 * WORD:
            yield records.address(log.get("address")), int.from_bytes(data[:WORD], "big")


def _changes(owner: Address, logs: Iterable[object]) -> dict[Address, int]:
    """The sum of every transfer to and from the owner, by token."""
    held: Counter[Address] = Counter()
    for value in logs:
        log = records.fields(value)
        topics = [records.hash32(each) for each in records.items(log.get("topics"))]
        data = records.data(log.get("data"))
        # An NFT's Transfer has its id as a fourth topic and no data.
        if len(topics) != 3 or topics[0] != TRANSFER or len(data) != 32:
            continue
        token = records.address(log.get("address"))
        amount = int.from_bytes(data, "big")
        currency = NATIVE if token == _COIN else token
        held[currency] += amount * ((topics[2][-40:] == owner[2:]) - (topics[1][-40:] == owner[2:]))
    return {token: amount for token, amount in held.items() if amount}
