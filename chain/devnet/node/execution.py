"""Running messages and transactions on the state of one block."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

from eth.constants import CREATE_CONTRACT_ADDRESS, ZERO_ADDRESS, ZERO_HASH32
from eth.db.atomic import AtomicDB
from eth.db.backends.memory import MemoryDB
from eth.exceptions import (
    ContractCreationCollision,
    FullStack,
    InsufficientStack,
    InvalidInstruction,
    InvalidJumpDestination,
    OutOfGas,
    Revert,
    VMError,
    WriteProtection,
)
from eth.vm.execution_context import ExecutionContext
from eth.vm.forks.prague.transactions import PragueTransactionBuilder
from eth.vm.spoof import SpoofTransaction
from eth_typing import Address as AccountBytes
from eth_typing import BlockNumber, Hash32
from msgspec.structs import replace

from chain.devnet.node.machine import MachineState
from chain.devnet.node.messages import REVERTED, EmittedLog, Outcome
from chain.devnet.node.records import from_hex, to_hex
from chain.devnet.node.transactions import TransactionRefusedError, refuse_impossible_gas

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eth.abc import ComputationAPI, SignedTransactionAPI

    from chain.contracts.networks import Address
    from chain.devnet.node.messages import Environment, Message, Override
    from chain.devnet.node.transactions import NodeTransaction

REFUND_QUOTIENT = 5

FAILURES: tuple[tuple[type[VMError], str], ...] = (
    (Revert, REVERTED),
    (OutOfGas, "out of gas"),
    (InsufficientStack, "stack underflow"),
    (FullStack, "stack limit reached 1024"),
    (InvalidJumpDestination, "invalid jump destination"),
    (InvalidInstruction, "invalid opcode"),
    (WriteProtection, "write protection"),
    (ContractCreationCollision, "contract address collision"),
)


class BlockState:
    """The state of one block: accounts to read, messages to try, transactions to apply."""

    def __init__(
        self,
        store: dict[bytes, bytes],
        environment: Environment,
        state_root: bytes,
        ancestors: Sequence[bytes],
    ) -> None:
        self.environment = environment
        self.is_spoilt = False
        """A call broke off: the state must not be used again."""
        self._ancestors = tuple(Hash32(ancestor) for ancestor in ancestors)
        self._state = MachineState(
            AtomicDB(MemoryDB(store)), self._context(environment), Hash32(state_root)
        )

    def balance(self, address: Address) -> int:
        return int(self._state.get_balance(_account(address)))

    def nonce(self, address: Address) -> int:
        return int(self._state.get_nonce(_account(address)))

    def code(self, address: Address) -> bytes:
        return bytes(self._state.get_code(_account(address)))

    def storage(self, address: Address, slot: int) -> int:
        return int(self._state.get_storage(_account(address), slot))

    def override(self, overrides: Mapping[Address, Override]) -> None:
        for address, wanted in overrides.items():
            account = _account(address)
            if wanted.balance is not None:
                self._state.set_balance(account, wanted.balance)
            if wanted.nonce is not None:
                self._state.set_nonce(account, wanted.nonce)
            if wanted.code is not None:
                self._state.set_code(account, wanted.code)
            if wanted.storage is not None:
                self._state.delete_storage(account)
            for slot, value in {**(wanted.storage or {}), **(wanted.changed_slots or {})}.items():
                self._state.set_storage(account, slot, value)
        # SSTORE prices a write against the value before the transaction: overrides come before.
        self._state.lock_changes()

    def call(self, message: Message, *, time_limit: float | None = None) -> Outcome:
        """Run a message and leave no trace of it."""
        spoofed = self._spoof(message)
        self._prepare(self._environment_of(message), time_limit=time_limit)
        checkpoint = self._state.snapshot()
        # Whatever stops the EVM half-way, such as the time limit, leaves the state half-changed.
        self.is_spoilt = True
        outcome = self._run(spoofed)
        self._state.revert(checkpoint)
        self.is_spoilt = False
        return outcome

    def apply(
        self, message: Message, *, time_limit: float | None = None, trace_transfers: bool = False
    ) -> Outcome:
        """Run a message and keep what it changed."""
        spoofed = self._spoof(message)
        self._prepare(self._environment_of(message), time_limit=time_limit)
        self._state.traces_transfers = trace_transfers
        return self._run(spoofed)

    def include(self, transaction: NodeTransaction) -> Outcome:
        """Apply a signed transaction that was found valid."""
        self._prepare(self.environment, time_limit=None)
        return self._run(transaction.signed)

    def advance(self, environment: Environment, parent_hash: str) -> None:
        """Go on to the next block of a simulated sequence."""
        self.environment = environment
        self._ancestors = (Hash32(from_hex(parent_hash)), *self._ancestors)

    def root(self) -> Hash32:
        """The state root as it stands, without writing anything to the store."""
        return self._state.make_state_root()

    def persist(self) -> Hash32:
        """Write all changes to the store and return the new state root."""
        self._state.persist()
        return self._state.state_root

    def _environment_of(self, message: Message) -> Environment:
        if message.max_fee_per_gas:
            return self.environment
        return replace(self.environment, base_fee_per_gas=0)

    def _prepare(self, environment: Environment, *, time_limit: float | None) -> None:
        self._state.execution_context = self._context(environment)
        self._state.deadline = None if time_limit is None else time.monotonic() + time_limit
        self._state.traces_transfers = False
        self._state.lock_changes()

    def _run(self, transaction: SignedTransactionAPI) -> Outcome:
        computation = self._state.apply_transaction(transaction)
        spent = transaction.gas - computation.get_gas_remaining()
        refunded = min(computation.get_gas_refund(), spent // REFUND_QUOTIENT)
        created = computation.msg.storage_address if computation.msg.is_create else None
        return Outcome(
            success=computation.is_success,
            output=bytes(computation.output),
            gas_used=spent - refunded + computation.data_floor_gas,
            gas_refunded=refunded,
            logs=_logs(computation),
            failure=_failure(computation),
            created=to_hex(created) if created else None,
        )

    def _spoof(self, message: Message) -> SignedTransactionAPI:
        gas = self.environment.gas_limit if message.gas is None else message.gas
        sender = _account(message.sender)
        unsigned = PragueTransactionBuilder.new_unsigned_dynamic_fee_transaction(
            chain_id=self.environment.chain_id,
            nonce=self._state.get_nonce(sender),
            max_priority_fee_per_gas=message.max_priority_fee_per_gas,
            max_fee_per_gas=message.max_fee_per_gas,
            gas=gas,
            to=_account(message.to) if message.to else CREATE_CONTRACT_ADDRESS,
            value=message.value,
            data=message.data,
            access_list=[(_account(entry), slots) for entry, slots in message.access_list],
        )
        refuse_impossible_gas(
            gas=gas,
            intrinsic=unsigned.get_intrinsic_gas(),
            data=message.data,
            creates=message.to is None,
        )
        self._refuse_unpayable(message, gas)
        # A spoof answers for every attribute of a signed transaction without being one.
        return cast("SignedTransactionAPI", SpoofTransaction(unsigned, from_=sender))

    def _refuse_unpayable(self, message: Message, gas: int) -> None:
        base_fee = self.environment.base_fee_per_gas
        if 0 < message.max_fee_per_gas < base_fee:
            raise TransactionRefusedError(
                f"max fee per gas less than block base fee: address {message.sender}, "
                f"maxFeePerGas: {message.max_fee_per_gas}, baseFee: {base_fee}"
            )
        have = self.balance(message.sender)
        want = gas * message.max_fee_per_gas + message.value
        if have < want:
            raise TransactionRefusedError(
                "insufficient funds for gas * price + value: "
                f"address {message.sender} have {have} want {want}"
            )

    def _context(self, environment: Environment) -> ExecutionContext:
        return ExecutionContext(
            coinbase=ZERO_ADDRESS,
            timestamp=environment.timestamp,
            block_number=BlockNumber(environment.number),
            difficulty=0,
            mix_hash=ZERO_HASH32,
            gas_limit=environment.gas_limit,
            prev_hashes=self._ancestors,
            chain_id=environment.chain_id,
            base_fee_per_gas=environment.base_fee_per_gas,
            excess_blob_gas=0,
        )


def _logs(computation: ComputationAPI) -> tuple[EmittedLog, ...]:
    return tuple(
        EmittedLog(
            address=to_hex(address),
            topics=tuple(f"0x{topic:064x}" for topic in topics),
            data=bytes(data),
        )
        for address, topics, data in computation.get_log_entries()
    )


def _failure(computation: ComputationAPI) -> str | None:
    if computation.is_success:
        return None
    for kind, text in FAILURES:
        if isinstance(computation.error, kind):
            return text
    return f"execution failed: {type(computation.error).__name__}"


def _account(address: Address) -> AccountBytes:
    return AccountBytes(from_hex(address))
