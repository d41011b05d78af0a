"""`zuno watch-ids ID…`: whose the named positions are; the wallet's own are kept for every look."""

from collections.abc import Sequence

from chain.contracts.addresses import checksummed, shortened
from chain.positions.batch_reader import read_positions
from zuno_tui.app.inspect import MissingPositionError
from zuno_tui.app.session import Session
from zuno_tui.present.answer import CommandAnswer


async def remember_ids(session: Session, token_ids: Sequence[int]) -> CommandAnswer:
    wanted = tuple(dict.fromkeys(token_ids))
    async with session.sources() as sources:
        found = await read_positions(sources.client, sources.network, sources.memory, wanted)
        owners = {
            token_id: found[token_id].owner if token_id in found else None for token_id in wanted
        }
        mine = [token_id for token_id, owner in owners.items() if owner == session.address]
        if not mine:
            raise MissingPositionError(
                f"None of these positions is {shortened(session.address)}'s on"
                f" {session.network.title}. Name their owner: --address 0x…"
            )
        sources.memory.remember_named(session.address, mine)
        named = sorted(sources.memory.named(session.address))
    return CommandAnswer(
        heading=(f"{session.network.title} · {shortened(session.address)}",),
        lines=(
            *(
                f"#{token_id}  {_whose(owner, session.address)}"
                for token_id, owner in owners.items()
            ),
            "Yours are read every time from now on: zuno positions",
        ),
        document={
            "network": session.network.name,
            "address": checksummed(session.address),
            "positions": [
                {"tokenId": str(token_id), "owner": None if owner is None else checksummed(owner)}
                for token_id, owner in owners.items()
            ],
            "named": [str(token_id) for token_id in named],
        },
    )


def _whose(owner: str | None, wallet: str) -> str:
    if owner is None:
        return "no position has this number, or it was burned"
    return "yours" if owner == wallet else f"belongs to {shortened(owner)}, not shown"
