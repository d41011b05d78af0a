"""The embedded chain as what stands behind a provider."""

from __future__ import annotations

from dataclasses import dataclass

from tests import node_rpc
from tests.fakes.honest_node import NodeRefusalError


@dataclass(frozen=True)
class EmbeddedChain:
    url: str

    @property
    def head(self) -> int:
        return int(node_rpc.ask(self.url, "eth_blockNumber"), 16)

    def answer(self, method: str, params: list[object], behind: int) -> object:
        """What the chain says; its one machine is never behind."""
        assert not behind
        told = node_rpc.answer_of(self.url, method, *params)
        error = told.get("error")
        if error is not None:
            raise NodeRefusalError(int(error["code"]), str(error["message"]))
        return told["result"]
