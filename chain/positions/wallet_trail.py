"""One wallet while it is read: its positions as far as known, and how they are looked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chain.positions.search_state import SearchState

if TYPE_CHECKING:
    from chain.contracts.networks import Address
    from chain.positions.holdings import Holdings
    from chain.positions.snapshot import PositionSnapshot
    from chain.rpc.records import Block, Log


class WalletPositions(Struct, frozen=True):
    owner: Address
    block: Block
    positions: tuple[PositionSnapshot, ...]
    """Confirmed by `ownerOf`, in the order of their token ids."""
    balance_of: int
    operators: tuple[Address, ...]
    """Strangers that may move every position of this wallet."""
    approvals_from: int | None
    """Before this block nobody looked for such strangers; None where all were looked for."""
    unconfirmed: tuple[int, ...]
    """Tokens the logs give to this wallet and `ownerOf` does not."""
    words: Mapping[int, int]
    """Every storage word of the PoolManager that was read at this block, by its slot."""

    @property
    def found(self) -> int:
        return len(self.positions)

    @property
    def complete(self) -> bool:
        return self.found == self.balance_of

    @property
    def missing(self) -> str | None:
        """What is not here and why, when something is not."""
        if self.complete:
            return None
        return (
            f"The wallet holds {self.balance_of} positions at block {self.block.number}, but"
            f" {self.found} could be found: the endpoint leaves logs out, or gives none."
            " Name the others: zuno watch-ids ID…, or ask another endpoint:"
            " zuno --rpc URL positions"
        )


class WalletTrail(Struct):
    """What is known of one wallet while it is read."""

    owner: Address
    checkpoints: list[Holdings]
    """Oldest first; the first is the one before anything happened."""
    search: SearchState | None
    """Where it was not all found, or the logs since the last checkpoint are too many."""
    named: frozenset[int]
    searches: int = 0
    """How often it was searched for in this reading."""
    searched_at: Block | None = None

    @property
    def last(self) -> Holdings:
        return self.checkpoints[-1]

    @property
    def follows_logs(self) -> bool:
        """Whether what happened since the last checkpoint is all there is to ask.

        Of a wallet without positions nothing but their number is.
        """
        last = self.last
        return self.search is None and last.block_hash is not None and bool(last.held)

    def step_back(self) -> None:
        self.checkpoints.pop()
        self.search = None

    def search_what_was_missed(self) -> None:
        """Search from the last checkpoint on, instead of asking for all logs since at once."""
        if self.follows_logs:
            last = self.last
            self.search = SearchState(
                last.through, last.through + 1, last.approvals_from, last.held, last.operators
            )

    def before(self) -> Holdings:
        """What it may hold, to be asked about."""
        last, state = self.last, self.search
        if state is not None:
            last = replace(last, held=state.found, operators=state.operators)
        return replace(last, held=last.held | self.named)

    def now(self, logs: Sequence[Log], block: Block) -> Holdings:
        """What it may hold at this block, by the logs since or by what a search found."""
        before = self.before()
        if self.follows_logs:
            return before.after(logs, self.owner, block.number, block.hash)
        if self.search is None or self.searched_at is None:
            since = block.number + 1
        else:
            # What happened while it was searched is asked for next time.
            block, since = self.searched_at, self.search.approvals_from
        return replace(before, through=block.number, block_hash=block.hash, approvals_from=since)

    def state_for(self, wallet: WalletPositions, endpoints: Sequence[str]) -> SearchState:
        """From where to search for what a wallet lacks; what others own is left out."""
        state, number = self.search, wallet.block.number
        mine = frozenset(one.token_id for one in wallet.positions)
        known_elsewhere = (
            state is not None
            and state.given_up is not None
            and not {*endpoints} <= {*state.given_up.endpoints}
        )
        if state is None or known_elsewhere:
            since = wallet.approvals_from
            operators = frozenset(wallet.operators)
            return SearchState(number, number + 1, since or 0, mine, operators)
        return replace(state, found=mine)
