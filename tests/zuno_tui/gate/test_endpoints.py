"""Endpoints that differ, are down, keep sends to themselves or cannot simulate, by the commands."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from chain.contracts.storage import pool_slots
from tests import node_rpc
from tests.fakes.proxy import Answer, Call, Proxy, refuses
from tests.zuno_tui.gate.desk import REFUSED, Desk, confirmed

NETWORK_FAULT = 4
SECRET = "a-key-that-is-never-shown"
DEAD = "http://127.0.0.1:9/nobody"


@pytest.fixture
def private(desk: Desk) -> Iterator[Proxy]:
    with Proxy(desk.devnet.url) as proxy:
        (desk.command.home / "settings.toml").write_text(f'[send]\ndevnet = "{proxy.url}"\n')
        yield proxy


def _collected(desk: Desk) -> dict[str, Any]:
    return desk.approved("collect", str(desk.token_id("transferred in")))


def test_sends_go_through_the_private_endpoint_and_no_other(desk: Desk, private: Proxy) -> None:
    with Proxy(desk.devnet.url) as public:
        reading = replace(desk, rpc=public.url)
        approval = _collected(reading)
        applied = reading.apply_here(*confirmed(approval), "--json")
        after = reading.here("outbox", "--json")
        listed = reading.here("outbox")

    assert applied.code == 0, applied.words
    assert approval["sentThrough"] == private.host
    assert after.data["dispatches"][-1]["sentThrough"] == private.host
    assert f"through {private.host} alone" in listed.out
    assert private.asked["eth_sendRawTransaction"] == 1
    assert public.asked["eth_sendRawTransaction"] == 0
    assert public.asked["eth_getTransactionReceipt"] > 0
    assert not any(SECRET in one.out + one.words for one in (applied, after, listed))


def test_a_private_endpoint_that_is_down_is_a_refusal_before_anything_is_signed(
    desk: Desk, private: Proxy
) -> None:
    approval = _collected(desk)
    before = desk.nonce()

    private.__exit__(None, None, None)
    down = desk.here("apply", *confirmed(approval))
    with private:
        up = desk.apply_here(*confirmed(approval), "--json")

    assert (down.code, down.out) == (NETWORK_FAULT, "")
    assert private.host in down.words
    assert "Nothing was signed" in down.words
    assert up.code == 0, up.words
    assert desk.nonce() == before + 1


def test_another_way_than_the_approved_one_is_drift(desk: Desk, private: Proxy) -> None:
    shown = desk.here("collect", str(desk.token_id("transferred in")))
    (desk.command.home / "settings.toml").unlink()
    before = desk.nonce()

    refused = desk.refused()

    assert f"Sent through {private.host} alone." in shown.out
    assert "Code as shipped with zuno: PoolManager, PositionManager, Permit2," in shown.out
    assert "seen for the first time, and trusted from now on: 0x" in shown.out
    assert SECRET not in shown.out + shown.words + refused.words
    assert f"sent through: {private.host} when approved, the usual endpoints now" in refused.words
    assert desk.nonce() == before


def test_two_endpoints_that_agree_are_named(desk: Desk) -> None:
    with Proxy(desk.devnet.url) as second:
        both = replace(desk, rpc=f"{desk.devnet.url},{second.url}")
        shown = both.here("collect", str(desk.token_id("transferred in")))
        approval = _collected(both)

    first = desk.devnet.url.removeprefix("http://").rstrip("/")
    assert approval["agreement"] == {
        "agreed": [first, second.host],
        "silent": [],
        "alone": False,
        "tried": [first, second.host],
    }
    assert f"{first} and {second.host} agree on" in shown.out
    assert second.asked["eth_getCode"] > 0


def test_silence_is_not_agreement_unless_one_is_let_vouch_alone(desk: Desk) -> None:
    one_down = replace(desk, rpc=f"{desk.devnet.url},{DEAD}")
    token_id = str(desk.token_id("transferred in"))
    before = desk.nonce()

    refused = one_down.here("collect", token_id)
    approval = one_down.approved("collect", token_id, "--alone")
    not_applied = one_down.refused(*confirmed(approval))
    nonce = desk.nonce()
    applied = one_down.apply_here(*confirmed(approval), "--alone", "--json")

    assert (refused.code, refused.out) == (REFUSED, "")
    assert "127.0.0.1:9" in refused.words
    assert approval["agreement"]["silent"][0]["host"] == "127.0.0.1:9"
    assert approval["agreement"]["alone"]
    assert "127.0.0.1:9" in not_applied.words
    assert nonce == before
    assert applied.code == 0, applied.words


def _changed(desk: Desk, method: str, change: Callable[[Any], Any]) -> Callable[[Call], Answer]:
    """Tells the truth, but for one method's answers."""

    def answer(call: Call) -> Answer | None:
        if call["method"] != method:
            return None
        return {"result": change(desk.ask(method, *call["params"]))}

    return answer  # type: ignore[return-value]


def test_the_trial_comes_from_whoever_can_make_it_and_is_called_agreed_only_where_it_was(
    desk: Desk,
) -> None:
    honest = _collected(desk)
    with Proxy(desk.devnet.url, refuses("eth_simulateV1")) as simple, Proxy(desk.devnet.url) as one:
        two = replace(desk, rpc=f"{simple.url},{one.url}")
        approval = _collected(two)
        shown = two.here("collect", str(desk.token_id("transferred in")))
        applied = two.apply_here(*confirmed(_collected(two)), "--json")

    assert approval["simulation"]["method"] == "eth_simulateV1"
    assert approval["quoted"] == honest["quoted"]
    assert approval["agreement"]["tried"] == [one.host]
    assert f"nonce and code. {one.host} alone tried all steps." in shown.out
    assert "code and trial" not in shown.out
    assert applied.code == 0, applied.words


def test_what_one_endpoint_says_of_a_listed_token_is_not_ours_to_say(desk: Desk) -> None:
    """Transfers left out of a trial: as if WETH told of other transfers than it makes."""

    def without_logs(told: Any) -> Any:
        return [{**one, "calls": [{**call, "logs": []} for call in one["calls"]]} for one in told]

    with (
        Proxy(desk.devnet.url, _changed(desk, "eth_simulateV1", without_logs)) as liar,
        Proxy(desk.devnet.url) as second,
        Proxy(desk.devnet.url) as third,
    ):
        alone = _collected(replace(desk, rpc=liar.url))
        several = [
            replace(desk, rpc=",".join(one.url for one in some)).here(
                "collect", str(desk.token_id("transferred in"))
            )
            for some in ((liar, second), (liar, second, third))
        ]

    assert alone["warnings"] == []
    for refused in several:
        assert refused.code == REFUSED
        assert "  untold by collect: " in refused.words
    assert f"{liar.host} disagrees with the other 2" in several[-1].words


def _another_price(desk: Desk) -> Callable[[Call], Answer]:
    pool_id = desk.positions()[str(desk.token_id("transferred in"))]["poolId"]
    slot = hex(pool_slots(pool_id).slot0)
    word = desk.ask("eth_getStorageAt", desk.devnet.contracts.pool_manager, slot, "latest")
    true = f"{int(word, 16):064x}"
    lie = f"{int(word, 16) + 1:064x}"
    return _changed(desk, "eth_call", lambda result: result.replace(true, lie))


LIES: dict[str, Callable[[Desk], Callable[[Call], Answer]]] = {
    "nonce": lambda desk: _changed(
        desk, "eth_getTransactionCount", lambda count: hex(int(count, 16) + 1)
    ),
    "code of": lambda desk: _changed(desk, "eth_getCode", lambda code: code + "00"),
    "block": lambda desk: _changed(
        desk,
        "eth_getBlockByNumber",
        lambda block: {**block, "hash": "0x" + "ab" * 32},
    ),
    "sqrt price x96": _another_price,
}


@pytest.mark.parametrize(
    ("what", "place"), [*((what, "second") for what in LIES), ("nonce", "first")]
)
def test_endpoints_that_disagree_are_refused_at_approve_and_at_apply(
    desk: Desk, what: str, place: str
) -> None:
    token_id = str(desk.token_id("transferred in"))
    approval = _collected(desk)
    before = desk.nonce()
    with Proxy(desk.devnet.url, LIES[what](desk)) as liar:
        urls = [desk.devnet.url, liar.url]
        both = replace(desk, rpc=",".join(urls if place == "second" else reversed(urls)))
        approving = both.here("collect", token_id)
        applying = both.here("apply", *confirmed(approval))

    assert approving.code == REFUSED, approving.words
    assert applying.code == REFUSED, applying.words
    if place == "second":
        for words in (approving.words, applying.words):
            assert "Endpoints disagree" in words
            assert liar.host in words
            assert f"  {what}" in words
    assert desk.nonce() == before


@pytest.mark.parametrize("name", ["pool_manager", "permit2"])
def test_code_other_than_the_shipped_is_refused_at_approve_and_at_apply(
    desk: Desk, name: str
) -> None:
    address = getattr(desk.devnet.contracts, name)

    def lies(call: Call) -> Answer | None:
        asked = call["method"] == "eth_getCode" and call["params"][0] == address
        return {"result": "0x5f5ffd"} if asked else None

    approval = _collected(desk)
    with Proxy(desk.devnet.url, lies) as liar:
        alone = replace(desk, rpc=liar.url)
        approving = alone.here("collect", str(desk.token_id("transferred in")))
        applying = alone.here("apply", *confirmed(approval))

    for refused in (approving, applying):
        assert refused.code == REFUSED
        assert "is not the known code" in refused.words
    (dispatch,) = desk.here("outbox", "--json").data["dispatches"]
    assert dispatch["state"] == "approved, not applied"


def test_an_endpoint_that_lags_cannot_vouch(desk: Desk) -> None:
    head = int(desk.ask("eth_blockNumber"), 16)

    def behind(call: Call) -> Answer | None:
        asked = call["method"] == "eth_getBlockByNumber" and call["params"][0] == hex(head)
        return {"result": None} if asked else None

    with Proxy(desk.devnet.url, behind) as late:
        both = replace(desk, rpc=f"{desk.devnet.url},{late.url}")
        refused = both.here("collect", str(desk.token_id("transferred in")))

    assert refused.code == REFUSED
    assert f"  {late.host}: it " in refused.words
    assert desk.here("outbox", "--json").data["dispatches"] == []


def _move_with_swap(desk: Desk) -> dict[str, Any]:
    plan = desk.recommended("underpaid")
    return desk.approved("approve", plan["planId"], "--candidate", _swapping(plan))


def _swapping(plan: dict[str, Any]) -> str:
    """The first option that may be approved and swaps before it enters."""
    return next(
        str(one["index"])
        for one in plan["candidates"]
        if one["judgment"]["verdict"] != "veto" and one["prepAction"] is not None
    )


def test_a_later_step_that_would_fail_is_not_signed(desk: Desk) -> None:
    router = desk.devnet.contracts.universal_router
    approval = _move_with_swap(desk)
    steps = [one["step"] for one in approval["transactions"]]
    before = desk.nonce()
    sent: list[str] = []

    def breaks_after_the_exit(call: Call) -> Answer | None:
        if call["method"] != "eth_sendRawTransaction":
            return None
        sent.append(node_rpc.broadcast(desk.devnet.url, *call["params"]))
        if len(sent) == steps.index("exit") + 1:
            desk.ask("anvil_setCode", router, "0x5f5ffd")
        return {"result": sent[-1]}

    with Proxy(desk.devnet.url, breaks_after_the_exit) as proxy:
        applied = replace(desk, rpc=proxy.url).apply_here(*confirmed(approval), "--json")

    assert applied.code == 1
    assert ": discarded (tried before it was signed, it fails" in applied.words
    assert applied.data["safeState"] == "closed, both tokens in the wallet"
    assert desk.nonce() == before + len(steps) - 1 == before + len(sent)
    (dispatch,) = desk.here("outbox", "--json").data["dispatches"]
    assert dispatch["state"] == "closed, both tokens in the wallet"
    assert dispatch["steps"][-1]["state"] == "discarded"


def test_damage_to_one_file_leaves_what_is_in_the_other(desk: Desk) -> None:
    approval = _collected(desk)
    assert desk.apply_here(*confirmed(approval)).code == 0
    database, journal = desk.command.home / "zuno.db", desk.command.home / "outbox.db"

    database.write_bytes(b"not a database" * 1000)
    after = desk.here("outbox", "--json")
    again = desk.refused(*confirmed(approval))
    content = b"not a database" * 1000
    journal.write_bytes(content)
    refused = [
        desk.here("outbox"),
        desk.here("apply", *confirmed(approval)),
        desk.here("collect", str(desk.token_id("transferred in"))),
    ]
    reading = desk.here("positions", "--json")

    assert "was damaged. It is kept as zuno.db.corrupt-" in after.words
    assert [one["hash"] for one in after.data["dispatches"]] == [approval["hash"]]
    assert "was applied before" in again.words
    assert [one.code for one in refused] == [REFUSED] * 3
    assert all("What was sent is written there" in one.words for one in refused)
    assert journal.read_bytes() == content
    assert reading.code == 0
