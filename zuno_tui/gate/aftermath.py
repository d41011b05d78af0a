"""Where the tokens of a plan are now, read from the chain and not out of the journal."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from chain.base.units import Known
from chain.contracts.networks import Address
from chain.execution.outbox.receipts import NotIncludedError, read_realised
from chain.execution.outbox.records import SUCCEEDED, Dispatch
from chain.positions.batch_reader import read_positions
from chain.positions.overview import Sources
from chain.read.block_reader import OneBlock
from chain.rpc.errors import RpcError
from chain.rpc.records import BlockRef
from chain.tokens import Token, read_tokens
from chain.tokens.reading import balance_call, balance_of
from chain.tokens.token import amount_text
from zuno_tui.gate.approvals import Approval


class PositionNow(Struct, frozen=True):
    token_id: int
    owner: Address | None
    """None where there is no such position any more."""
    liquidity: int


class TokenHolding(Struct, frozen=True):
    token: Address
    now: int | None
    before: int | None
    """At the block the plan was built on; None where that cannot be read any more."""


class Aftermath(Struct, frozen=True):
    block: int
    wallet: Address
    positions: tuple[PositionNow, ...]
    """The one the plan is about, and those its steps have made."""
    holdings: tuple[TokenHolding, ...]
    tokens: Mapping[Address, Token]

    @property
    def sentences(self) -> tuple[str, ...]:
        return (
            *(_position_words(position, self.wallet) for position in self.positions),
            *_holding_words(self.holdings, self.tokens),
        )


async def read_aftermath(sources: Sources, approval: Approval, dispatch: Dispatch) -> Aftermath:
    """At the newest block: the position, what its steps made, and what the wallet holds."""
    here = OneBlock(sources.client, sources.network)
    held = await _held(here, sources, dispatch.sender, approval.tokens)
    before = await _held_at(sources, dispatch, approval.tokens)
    ids = tuple(dict.fromkeys(await _concerned(sources, approval, dispatch)))
    found = (
        await read_positions(
            sources.client, sources.network, sources.memory, ids, at=here.block.hash
        )
        if ids
        else {}
    )
    tokens = await read_tokens(
        sources.client,
        sources.network,
        approval.tokens,
        here.block.hash,
        store=sources.store,
        now=sources.clock(),
    )
    return Aftermath(
        here.block.number,
        dispatch.sender,
        tuple(
            PositionNow(each, found[each].owner, found[each].liquidity)
            if each in found
            else PositionNow(each, None, 0)
            for each in ids
        ),
        tuple(TokenHolding(each, held[each], before.get(each)) for each in approval.tokens),
        tokens,
    )


async def _concerned(sources: Sources, approval: Approval, dispatch: Dispatch) -> Sequence[int]:
    ids = [*approval.about.token_ids]
    for step in dispatch.steps:
        if step.state in SUCCEEDED and step.inclusion is not None:
            made = step.inclusion.transaction_hash
            try:
                _, did = await read_realised(sources.client, made, dispatch.sender, sources.network)
            except NotIncludedError:
                continue
            ids.extend(did.minted)
    return ids


async def _held_at(
    sources: Sources, dispatch: Dispatch, tokens: Sequence[Address]
) -> dict[Address, int | None]:
    """Before the plan; nothing where that block or its state is no longer there."""
    at: BlockRef = dispatch.anchor.hash
    try:
        then = OneBlock(sources.client, sources.network, at)
        return await _held(then, sources, dispatch.sender, tokens)
    except RpcError:
        return {}


async def _held(
    here: OneBlock, sources: Sources, owner: Address, tokens: Sequence[Address]
) -> dict[Address, int | None]:
    answers = await here.read([balance_call(sources.network, owner, each) for each in tokens])
    told = (balance_of(outcome, here.block) for outcome in answers.outcomes)
    return {
        token: found.value if isinstance(found, Known) else None
        for token, found in zip(tokens, told, strict=True)
    }


def _position_words(position: PositionNow, wallet: Address) -> str:
    if position.owner is None:
        return f"Position #{position.token_id} is no more."
    whose = "yours" if position.owner == wallet else f"held by {position.owner}"
    liquidity = "with its liquidity" if position.liquidity else "without liquidity"
    return f"Position #{position.token_id} is there, {whose}, {liquidity}."


def _holding_words(
    holdings: Sequence[TokenHolding], tokens: Mapping[Address, Token]
) -> Iterator[str]:
    parts = [_held_words(holding, tokens[holding.token]) for holding in holdings]
    if parts:
        yield f"The wallet holds {', '.join(parts)}."


def _held_words(holding: TokenHolding, token: Token) -> str:
    if holding.now is None:
        return f"an unknown amount of {token.label}"
    held = amount_text(holding.now, token)
    if holding.before is None:
        return held
    changed = holding.now - holding.before
    if changed > 0:
        return f"{held} ({amount_text(changed, token)} more than before the plan)"
    if changed < 0:
        return f"{held} ({amount_text(-changed, token)} less than before the plan)"
    return f"{held} (as before the plan)"
