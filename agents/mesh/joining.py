"""A member's folder as a peer that can speak: its key, the peer file and the engine it uses."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from agents.mesh import peers
from agents.mesh.endpoint import MeshEndpoint
from agents.mesh.frame import MOST_FRAME, read_key
from agents.mesh.nats_engine import OPENING_SECONDS, NatsEngine
from chain.base import strict_json
from chain.base.http import HttpClient, HttpError, HttpLimits

_DONE = 200
_BAD_ID = 400
_MOST_AT_ONCE = 100
"""What a node's queue holds; older messages it drops by itself."""
_SHORTEST_WAIT, _LONGEST_WAIT = 0.02, 0.25
"""Between two looks into the queue: short while there is talk, long when there is none."""
_BROKEN_WAIT = 0.5
_DRAINING = 8
"""Requests at once that empty a queue nobody has looked into for long."""
_LIMITS = HttpLimits(connect_seconds=2, answer_seconds=5, most_bytes=MOST_FRAME + 1)


class AxlEngine:
    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._http = HttpClient(url)
        self._polling = HttpClient(url)
        self._wait = _SHORTEST_WAIT
        self.broken = ""
        """Why the node cannot be asked just now; empty while it answers."""

    async def open(self) -> None:
        await self.known_nodes()
        # What waits was meant for an earlier process: nothing of it could be taken.
        await asyncio.gather(*(self._drain() for _ in range(_DRAINING)))

    async def send(self, peer: peers.Peer, data: bytes, *, keep: bool) -> None:  # noqa: ARG002 - it keeps nothing
        if peer.node is None:
            raise peers.EngineError(f"The peer file names no AXL node for {peer.name}.")
        headers = {"content-type": "application/octet-stream", "x-destination-peer-id": peer.node}
        try:
            answer = await self._http.post(f"{self._url}/send", data, _LIMITS, headers)
        except HttpError as error:
            raise peers.EngineError(f"The AXL node {error}.") from None
        if answer.status == _BAD_ID:
            raise peers.EngineError(f"The AXL node does not take the id of {peer.name}.")
        if answer.status != _DONE:
            raise peers.EngineError(f"The AXL node cannot reach {peer.name}.")
        # An answer is likely to follow soon.
        self._wait = _SHORTEST_WAIT

    async def receive(self) -> tuple[bytes, ...]:
        while True:
            found = await self._drain()
            if found:
                self._wait = _SHORTEST_WAIT
                return found
            await asyncio.sleep(_BROKEN_WAIT if self.broken else self._wait)
            self._wait = min(self._wait * 1.5, _LONGEST_WAIT)

    async def known_nodes(self) -> frozenset[str]:
        """Every node that this one knows of: `peers` would be its direct links alone."""
        try:
            answer = await self._http.get(f"{self._url}/topology", {}, _LIMITS)
            body = strict_json.loads(answer.body)
        except HttpError as error:
            raise peers.EngineError(f"The AXL node {error}.") from None
        except strict_json.InvalidJsonError as error:
            raise peers.EngineError(f"The AXL node tells no topology: {error}.") from None
        tree = body.get("tree") if isinstance(body, dict) else None
        if answer.status != _DONE or not isinstance(tree, list):
            raise peers.EngineError("The AXL node tells no topology.")
        return frozenset(str(node.get("public_key")) for node in tree if isinstance(node, dict))

    async def close(self) -> None:
        await self._http.close()
        await self._polling.close()

    async def _drain(self) -> tuple[bytes, ...]:
        found: list[bytes] = []
        while len(found) < _MOST_AT_ONCE:
            try:
                answer = await self._polling.get(f"{self._url}/recv", {}, _LIMITS)
            except HttpError as error:
                self.broken = f"The AXL node {error}."
                break
            self.broken = ""
            if answer.status != _DONE:
                break
            found.append(answer.body)
        return tuple(found)


def join_mesh(
    folder: Path, versions: Mapping[str, str], *, asks: str = "", patience: float = OPENING_SECONDS
) -> tuple[MeshEndpoint, peers.Peer, peers.Member]:
    """The endpoint of the member whose folder this is; it is opened as `async with`."""
    member, book = peers.read_member(folder), peers.read_book(folder)
    key = read_key(folder / peers.KEY_FILE)
    me = book.by_key(key.public)
    if me is None:
        raise peers.MeshFileError(
            f"{folder / peers.PEER_FILE} does not name the key in {folder / peers.KEY_FILE}. "
            "Copy the peer file of the mesh here."
        )
    engine = (
        AxlEngine(member.url)
        if member.engine is peers.Engine.AXL
        else NatsEngine(member, book, me, patience=patience)
    )
    return MeshEndpoint(key, book, engine, versions=versions, asks=asks), me, member
