"""The embedded chain itself: blocks on py-evm's state, without a network in front."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from eth.constants import BLANK_ROOT_HASH

from chain.devnet.node.archive import Archive, read_archive, write_archive
from chain.devnet.node.block import OpenBlock
from chain.devnet.node.call_memory import CallMemory, ReadState
from chain.devnet.node.execution import BlockState
from chain.devnet.node.fees import BASE_FEE_FLOOR, BLOCK_GAS_LIMIT, next_base_fee
from chain.devnet.node.index import Index, LogQuery
from chain.devnet.node.messages import Environment, Override
from chain.devnet.node.records import CHAIN_ID, ZERO_HASH, MinedBlock, from_hex
from chain.devnet.node.transactions import (
    NodeTransaction,
    TransactionRefusedError,
    decode_transaction,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from chain.contracts.networks import Address
    from chain.devnet.node.messages import Message, Outcome
    from chain.devnet.node.records import GenesisAccount, Header, MinedLog, MinedReceipt

ANCESTORS_VISIBLE = 256
WARM_STATES = 4
"""Reads cluster on the head and the few blocks behind it; a state kept open halves their cost."""


class UnknownBlockError(LookupError):
    """A block that is not on this chain."""


class ChainLedger:
    def __init__(self, archive: Archive, *, chain_id: int = CHAIN_ID) -> None:
        self.chain_id = chain_id
        self._store = archive.store
        self._blocks = archive.blocks
        self._roots = archive.roots
        self._hashes = [from_hex(block.header.hash) for block in self._blocks]
        self._numbers = {block.header.hash: block.header.number for block in self._blocks}
        self._orphans: dict[str, tuple[Header, bytes]] = {}
        self._warm: OrderedDict[tuple[str, bytes], ReadState] = OrderedDict()
        self._calls = CallMemory()
        self._index = Index()
        for block in self._blocks:
            self._index.add(block)

    @classmethod
    def genesis(
        cls,
        accounts: Mapping[Address, GenesisAccount],
        *,
        timestamp: int,
        chain_id: int = CHAIN_ID,
    ) -> ChainLedger:
        store: dict[bytes, bytes] = {}
        environment = Environment(0, timestamp, BASE_FEE_FLOOR, BLOCK_GAS_LIMIT, chain_id)
        state = BlockState(store, environment, BLANK_ROOT_HASH, ())
        state.override(
            {
                address: Override(
                    balance=account.balance,
                    nonce=account.nonce,
                    code=account.code or None,
                    changed_slots=account.storage,
                )
                for address, account in accounts.items()
            }
        )
        block = OpenBlock(ZERO_HASH, state).seal(state.persist())
        archive = Archive(store, [block], [from_hex(block.header.state_root)])
        return cls(archive, chain_id=chain_id)

    @classmethod
    def load(cls, path: Path, *, chain_id: int = CHAIN_ID) -> ChainLedger:
        return cls(read_archive(path), chain_id=chain_id)

    def save(self, path: Path) -> None:
        write_archive(path, Archive(self._store, self._blocks, self._roots))

    @property
    def head(self) -> Header:
        return self._blocks[-1].header

    @property
    def trie_nodes(self) -> dict[bytes, bytes]:
        """Every node of every state trie, by hash."""
        return self._store

    def block(self, number: int) -> MinedBlock:
        if not 0 <= number < len(self._blocks):
            raise UnknownBlockError("header not found")
        return self._blocks[number]

    def block_number(self, block_hash: str) -> int | None:
        """The number of a canonical block."""
        return self._numbers.get(block_hash)

    def is_orphan(self, block_hash: str) -> bool:
        return block_hash in self._orphans

    def receipt(self, transaction_hash: str) -> MinedReceipt | None:
        place = self._index.place(transaction_hash)
        return self._blocks[place.block_number].receipts[place.index] if place else None

    def transaction(self, transaction_hash: str) -> NodeTransaction | None:
        place = self._index.place(transaction_hash)
        if place is None:
            return None
        return decode_transaction(self._blocks[place.block_number].transactions[place.index])

    def logs(self, wanted: LogQuery) -> list[MinedLog]:
        return self._index.logs(wanted)

    def next_environment(self, timestamp: int) -> Environment:
        return Environment(
            number=self.head.number + 1,
            timestamp=timestamp,
            base_fee_per_gas=next_base_fee(self.head),
            gas_limit=BLOCK_GAS_LIMIT,
            chain_id=self.chain_id,
        )

    def open_block(self, *, timestamp: int) -> OpenBlock:
        """A block on top of the head that exists only once `commit` is given it."""
        if timestamp <= self.head.timestamp:
            raise TransactionRefusedError(
                f"timestamp {timestamp} must be later than the head's {self.head.timestamp}"
            )
        state = BlockState(
            self._store,
            self.next_environment(timestamp),
            self._roots[-1],
            self._ancestors(self.head.number + 1),
        )
        return OpenBlock(self.head.hash, state)

    def commit(self, opened: OpenBlock) -> MinedBlock:
        if opened.parent_hash != self.head.hash:
            raise UnknownBlockError("the block was opened on another head")
        block = opened.seal(opened.state.persist())
        self._blocks.append(block)
        self._roots.append(from_hex(block.header.state_root))
        self._hashes.append(from_hex(block.header.hash))
        self._numbers[block.header.hash] = block.header.number
        self._orphans.pop(block.header.hash, None)
        self._index.add(block)
        return block

    def mine(
        self, transactions: Sequence[bytes | NodeTransaction] = (), *, timestamp: int
    ) -> tuple[MinedReceipt, ...]:
        """One block of exactly these transactions; a refused one raises and nothing is mined."""
        opened = self.open_block(timestamp=timestamp)
        for item in transactions:
            opened.add(item if isinstance(item, NodeTransaction) else decode_transaction(item))
        return self.commit(opened).receipts

    def rewind(self, number: int) -> None:
        """Forget the blocks above `number`, as a reorg does."""
        self.block(number)
        while self.head.number > number:
            block = self._blocks.pop()
            self._index.remove_last(block)
            self._hashes.pop()
            del self._numbers[block.header.hash]
            self._orphans[block.header.hash] = (block.header, self._roots.pop())

    def state(self, at: int | str | None = None) -> ReadState:
        """The state a block left, kept open between reads."""
        header, root = self._moment(at)
        key = (header.hash, root)
        state = self._warm.get(key)
        if state is None or state.is_spoilt:
            state = self._warm[key] = ReadState(
                *self._contents(header, root), memory=self._calls, block_hash=header.hash
            )
            if len(self._warm) > WARM_STATES:
                self._warm.popitem(last=False)
        self._warm.move_to_end(key)
        return state

    def fork(
        self,
        at: int | str | None = None,
        *,
        overrides: Mapping[Address, Override] | None = None,
    ) -> BlockState:
        """A private copy of a block's state, free to be changed and thrown away."""
        state = BlockState(*self._contents(*self._moment(at)))
        if overrides:
            state.override(overrides)
        return state

    def call(
        self,
        message: Message,
        at: int | str | None = None,
        *,
        overrides: Mapping[Address, Override] | None = None,
        time_limit: float | None = None,
    ) -> Outcome:
        state = self.fork(at, overrides=overrides) if overrides else self.state(at)
        return state.call(message, time_limit=time_limit)

    def root(self, at: int | str | None = None) -> bytes:
        """The state root as it stands: the header's, unless the state was changed irregularly."""
        return self._moment(at)[1]

    def change(self, overrides: Mapping[Address, Override]) -> None:
        """Change the head's state without a transaction, visible at once; the header stays."""
        self.change_root(self.fork(overrides=overrides).persist())

    def change_root(self, root: bytes) -> None:
        self._roots[-1] = root

    def set_balance(self, address: Address, balance: int) -> None:
        self.change({address: Override(balance=balance)})

    def set_nonce(self, address: Address, nonce: int) -> None:
        self.change({address: Override(nonce=nonce)})

    def set_code(self, address: Address, code: bytes) -> None:
        self.change({address: Override(code=code)})

    def set_storage(self, address: Address, slot: int, value: int) -> None:
        self.change({address: Override(changed_slots={slot: value})})

    def _moment(self, at: int | str | None) -> tuple[Header, bytes]:
        """A header and its state: of the head, of a height, or of a hash, even an orphaned one."""
        if isinstance(at, str):
            if at in self._orphans:
                return self._orphans[at]
            at = self._numbers.get(at, -1)
        number = self.head.number if at is None else at
        return self.block(number).header, self._roots[number]

    def _contents(
        self, header: Header, root: bytes
    ) -> tuple[dict[bytes, bytes], Environment, bytes, tuple[bytes, ...]]:
        environment = Environment(
            header.number,
            header.timestamp,
            header.base_fee_per_gas,
            header.gas_limit,
            self.chain_id,
        )
        return self._store, environment, root, self._ancestors(header.number)

    def _ancestors(self, number: int) -> tuple[bytes, ...]:
        return tuple(reversed(self._hashes[max(number - ANCESTORS_VISIBLE, 0) : number]))
