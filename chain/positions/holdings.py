"""Which positions a wallet holds and who may move them, told by the PositionManager's logs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from chain import abi
from chain.networks import NATIVE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chain.networks import Address
    from chain.rpc.types import Log

TRANSFER = abi.topic("Transfer(address,address,uint256)")
APPROVAL_FOR_ALL = abi.topic("ApprovalForAll(address,address,bool)")

_TOPICS = {TRANSFER: 4, APPROVAL_FOR_ALL: 3}

Topics = tuple[str | tuple[str, ...] | None, ...]


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the logs up to a block add up to; `block_hash` names the chain they were read from."""

    through: int
    block_hash: str | None
    held: frozenset[int] = frozenset()
    operators: frozenset[Address] = frozenset()

    @classmethod
    def before(cls, first_block: int) -> Holdings:
        """Of a wallet nothing is known about yet."""
        return cls(through=first_block - 1, block_hash=None)

    def after(
        self, logs: Iterable[Log], owner: Address, through: int, block_hash: str | None
    ) -> Holdings:
        """The holdings once the logs up to `through` have had their say.

        Those already counted do no harm: for each token the last one decides.
        """
        held, operators = set(self.held), set(self.operators)
        for log in sorted(logs, key=lambda log: (log.block_number, log.log_index)):
            if log.block_number > through:
                break
            if len(log.topics) != _TOPICS[log.topics[0]]:
                raise abi.AbiError("A log of the PositionManager lacks what it must tell.")
            if log.topics[0] == TRANSFER:
                token_id = int(log.topics[3], 16)
                # A transfer to oneself both leaves and arrives, in this order.
                if _address(log.topics[1]) == owner:
                    held.discard(token_id)
                if _address(log.topics[2]) == owner:
                    held.add(token_id)
            elif _address(log.topics[1]) == owner:
                operator = _address(log.topics[2])
                (operators.add if int.from_bytes(log.data, "big") else operators.discard)(operator)
        return replace(
            self,
            through=through,
            block_hash=block_hash,
            held=frozenset(held),
            operators=frozenset(operators),
        )


def kept(checkpoints: Sequence[Holdings], final: int) -> tuple[Holdings, ...]:
    """The checkpoints worth keeping: the newest, the newest final one, and the next to be final.

    The newest makes the next read short; should its block be reorganised away, an older one is
    still good.
    """
    settled = [one for one in checkpoints if one.through <= final]
    open_ones = [one for one in checkpoints if one.through > final]
    return tuple(dict.fromkeys((*settled[-1:], *open_ones[:1], *open_ones[-1:])))


def custody_topics(*owners: Address) -> tuple[Topics, Topics]:
    """The filters that catch what arrives, and what leaves or is given into others' hands."""
    words = tuple("0x" + "00" * 12 + owner.removeprefix("0x") for owner in owners)
    any_of = words[0] if len(words) == 1 else words
    return (TRANSFER, None, any_of), ((TRANSFER, APPROVAL_FOR_ALL), any_of)


def minted_in(logs: Iterable[Log]) -> dict[int, int]:
    """The tokens that came to be in these logs, and in which block."""
    return {
        int(log.topics[3], 16): log.block_number
        for log in logs
        if log.topics[0] == TRANSFER and _address(log.topics[1]) == NATIVE
    }


def _address(topic: str) -> Address:
    return "0x" + topic[-40:]
