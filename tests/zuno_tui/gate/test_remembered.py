"""What a home remembers of contracts: written after agreement, found out when wrong, let go of."""

import time
from dataclasses import replace

import pytest

from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.devnet.world.deployment import FAKE_USDC
from chain.positions.overview import Sources, tokens_at
from chain.rpc.client import RpcClient
from chain.tokens import remembered_tokens
from tests.fakes.lying_endpoint import lying_endpoint
from tests.fakes.proxy import Answer, Call, Proxy
from tests.zuno_tui.gate.desk import REFUSED, Desk
from tests.zuno_tui.gate.lie_parts import first_word, reads
from tests.zuno_tui.gate.unlisted_token import UNLISTED, unlisted_position
from zuno_tui.gate.contract_code import pinned_code

FAILED = 1
ANOTHER_CODE = "0x" + "ab" * 32
DEVNET = network_named("devnet")


def _pins(desk: Desk) -> dict[str, str]:
    store, _ = Store.open(desk.command.home / "zuno.db", now=time.time())
    with store:
        return pinned_code(store, DEVNET)


def _memory_checks(desk: Desk) -> list[tuple[str, str]]:
    checks = desk.here("doctor", "--json").data["checks"]
    return [(one["state"], one["nextStep"]) for one in checks if one["name"] == "memory"]


def test_a_refused_lie_about_code_is_not_remembered(desk: Desk) -> None:
    collect = ("collect", str(desk.token_id("transferred in")))

    def lies(call: Call) -> Answer | None:
        return {"result": "0x5f5ffd"} if call["method"] == "eth_getCode" else None

    with Proxy(desk.devnet.url, lies) as liar, Proxy(desk.devnet.url) as second:
        refused = replace(desk, rpc=f"{liar.url},{desk.devnet.url},{second.url}").here(*collect)
        after_the_lie = _pins(desk)
        honest = replace(desk, rpc=f"{desk.devnet.url},{second.url}").here(*collect)

    assert refused.code == REFUSED
    assert after_the_lie == {}
    assert honest.code == 0, honest.words
    assert _pins(desk) != {}


def test_a_pin_that_no_longer_holds_is_found_and_let_go_of(desk: Desk) -> None:
    collect = ("collect", str(desk.token_id("transferred in")))
    assert desk.here(*collect).code == 0
    well = _memory_checks(desk)
    address = next(iter(_pins(desk)))
    store, _ = Store.open(desk.command.home / "zuno.db", now=time.time())
    with store:
        store.put("contract-code-31337", address, ANOTHER_CODE, now=time.time())

    shown = desk.here(*collect)
    ((state, next_step),) = _memory_checks(desk)
    broken = desk.here("doctor")
    forgotten = desk.here(*next_step.rpartition("zuno ")[2].split())
    again = desk.here("doctor", "--forget", address)

    assert well == [("ok", "")]
    assert "has changed since it was first seen" in shown.out
    assert state == "broken"
    assert broken.code == FAILED
    assert forgotten.code == 0
    assert address not in _pins(desk)
    assert again.code == 0
    assert _memory_checks(desk) == [("ok", "")]


async def test_decimals_that_one_of_several_told_are_not_kept_by_a_look(desk: Desk) -> None:
    async def kept(*urls: str) -> set[str]:
        store = Store.in_memory()
        async with RpcClient(DEVNET, urls) as client:
            sources = Sources(client, DEVNET, store, None, time.time)
            await tokens_at(sources, [FAKE_USDC.address], "latest")
        return set(remembered_tokens(store, DEVNET))

    with Proxy(desk.devnet.url) as second:
        assert await kept(desk.devnet.url, second.url) == set()
    assert await kept(desk.devnet.url) == {FAKE_USDC.address}


def test_what_is_no_address_is_said_to_be_none(desk: Desk) -> None:
    with pytest.raises(SystemExit):
        desk.here("doctor", "--forget", "0x12")


def test_what_is_remembered_does_not_answer_for_a_witness(desk: Desk) -> None:
    """A memory filled by an honest endpoint would speak for one that lies about decimals now."""
    position = unlisted_position(desk.devnet)
    increase = ("increase", str(position.token_id), "0.001", position.token)
    honest = desk.here(*increase)
    lie = reads((UNLISTED,), "decimals()", first_word(lambda true: true + 2))
    with lying_endpoint(desk.devnet.url, lie) as liar:
        refused = replace(desk, rpc=f"{desk.devnet.url},{liar.url}").here(*increase)

    assert honest.code == 0, honest.words
    assert refused.code == REFUSED, refused.words
    assert "decimals of" in refused.words
    assert liar.host in refused.words
