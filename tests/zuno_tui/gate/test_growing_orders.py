"""Orders that put fees back to work and move ranges, on the real contracts."""

import asyncio
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace as with_rpc
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from chain.base.home import Home
from chain.contracts.abi import selector
from chain.contracts.networks import network_named
from chain.contracts.pool_key import PoolKey
from chain.contracts.signed_delegation import caveats_of, terms_in
from chain.devnet.world.accounts import MEDIUM_PROVIDER
from chain.execution.decode.decoder import decode_call, encode_call
from chain.execution.decode.words import names_on
from chain.execution.protocols import of_call
from chain.execution.v4.records import DecodedCloseCurrency, ModifyLiquidities
from chain.math.ticks import tick_at_sqrt_price
from chain.protocols.reference import position_name
from chain.standing_orders.call import OrderRefusedError, call_in, gas_limits, read_call
from chain.standing_orders.order import (
    PricePast,
    StandingOrder,
    StandingState,
    delegation_text,
)
from chain.wallet.demo import demo_key
from chain.wallet.local_key import LocalKey
from chain.wallet.signer import Signer
from tests.agents.monitor.walked_market import WalkedPool
from tests.chain.moves import Moves
from tests.fakes.proxy import Answer, Call, Proxy
from tests.printed import printed
from tests.samples import some_of
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.test_one_transaction import signed
from tests.zuno_tui.gate.test_standing_orders import STATE, Watching, level, ordered, redeemable
from zuno_tui.app.session import Session
from zuno_tui.features.orders.news import order_news
from zuno_tui.features.orders.signing import sign_orders, waiting_order
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.settings import Flags, load_settings

NETWORK = network_named("devnet")
GROWING = ("over", "$0.5", "every", "10m", "times", "2")


def gas_of(desk: Desk, watching: Watching, number: int = 1) -> int:
    receipt = desk.ask("eth_getTransactionReceipt", watching.order(number).progress.results[-1])
    return int(receipt["gasUsed"], 16)


def edge(desk: Desk, shift: int, state: str = STATE) -> str:
    """The price that an end of the position's range goes to, so many ticks further."""
    told = desk.positions()[str(desk.token_id(state))]
    return f"{told['priceUpper' if shift > 0 else 'priceLower'] * 1.0001**shift:.2f}"


@contextmanager
def market_of(desk: Desk, ref: str = "") -> Iterator[WalkedPool]:
    """Others trade in the position's pool, on the real contracts."""
    told = desk.positions()[ref or str(desk.token_id(STATE))]
    key = PoolKey(
        *(told[name] for name in ("currency0", "currency1", "fee", "tickSpacing", "hooks"))
    )
    with httpx2.Client(verify=False) as http:
        yield WalkedPool(Moves(http, desk.devnet.url, NETWORK), key)


def walked_to(market: WalkedPool, tick: int) -> None:
    for _ in range(90):  # liquidity changes on the way
        away = tick - market.tick
        if abs(away) < 4:
            return
        # A swap that crosses too many levels runs out of gas.
        market.push(max(-60, min(60, away)))


def tick_of(order: StandingOrder) -> int:
    assert isinstance(order.condition, PricePast)
    return tick_at_sqrt_price(int(order.condition.sqrt_price))


def looked(watching: Watching, *, times: int = 4) -> None:
    for _ in range(times):
        watching.look(blocks=11)


def words_of(order: StandingOrder) -> str:
    """What the decoder says of the call that was signed."""
    terms = terms_in(order.delegation_signed.caveats)
    assert terms is not None
    call = decode_call(terms.call.data)
    protocol = of_call(call)
    assert protocol is not None
    names = names_on(NETWORK, order.delegation_signed.delegator, {})
    return " ".join(protocol.describe(call, names))  # type: ignore[arg-type]


@pytest.mark.parametrize("state", [STATE, "native"])
def test_fees_go_back_to_work(delegated: Desk, state: str) -> None:
    desk, token_id = delegated, str(delegated.token_id(state))
    ordered(desk, "compound", token_id, *GROWING)
    watching, before = Watching(desk), desk.positions()[token_id]
    order = watching.order().order
    call = call_in(order, NETWORK)
    held = [desk.held(call.recipient, token) for token in call.currencies]
    looked(watching, times=5)
    after, progress = desk.positions()[token_id], watching.order().progress
    back = [desk.held(call.recipient, token) for token in call.currencies]

    assert (progress.done, progress.state) == (1, StandingState.WAITING), (progress, watching.told)
    assert call.entry is not None
    assert call.entry.rest
    # Twice the step went in, since the rest follows; what its range takes none of came home.
    grown = int(after["liquidity"]) - int(before["liquidity"])
    assert grown >= call.entry.liquidity * 3 // 2
    assert all(now >= then for now, then in zip(back, held, strict=True))
    assert f"Add what is left of the fees to position #{token_id}" in words_of(order)
    assert not redeemable(desk, order), "the fees cover no second step"
    printed(f"compound, {state}: {gas_of(desk, watching):,} gas")
    assert gas_of(desk, watching) <= gas_limits(call).least


def test_it_waits_while_the_price_is_past_its_band(delegated: Desk) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    ordered(desk, "compound", token_id, *GROWING)
    watching = Watching(desk)
    pool = desk.pool_id(STATE)
    desk.raise_price(pool, bips=230)
    looked(watching)
    assert not redeemable(desk, watching.order().order)
    progress = watching.order().progress
    listed = desk.here("orders")
    desk.raise_price(pool, bips=-225)
    looked(watching)
    after = watching.order().progress

    assert (progress.done, progress.met_at, progress.reason) == (0, None, "")
    assert "outside the band" in str(progress.waits)
    assert "order 1 waits: The price is outside the band" in " ".join(listed.out.split())
    assert "last look" in listed.out
    assert after.done == 1
    assert "do not cover the step yet: 0 of " in str(after.waits)


def test_what_comes_from_elsewhere_obeys_the_same_neighbors(
    delegated: Desk, tmp_path: Path
) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    ordered(desk, "move", token_id, "up", "to", edge(desk, 50))
    move, close = tmp_path / "move.json", tmp_path / "close.json"
    assert desk.here("order", "export", "1", str(move)).code == 0
    signed(desk, "order", "cancel", "1")
    Watching(desk).look()
    ordered(desk, "close", token_id, "below", level(desk, 0.95))
    assert desk.here("order", "export", "2", str(close)).code == 0
    folder = Home.locate(os.environ, desk.command.home).orders
    (folder / "1.json").unlink()
    taken = desk.here("order", "import", str(move))
    same = desk.here("order", "import", str(close))

    assert taken.code == 3
    assert "would not know the position that a move makes" in taken.words
    assert same.code == 0


def test_nobody_pays_for_ranges_that_a_stop_keeps_from_use(delegated: Desk) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    ordered(desk, "close", token_id, "out-of-range", "2h")
    refused = desk.here("order", "places", token_id, "up", "to", edge(desk, 50), "--follow", "1")

    assert refused.code == 3
    assert "out of its range" in refused.words


def test_a_manager_without_the_action_gets_the_form_without_it(delegated: Desk) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    unknown = selector("UnsupportedAction(uint256)").hex() + f"{4:064x}"

    def answer(call: Call) -> Answer | None:
        data = str(call["params"][0].get("data", "")) if call["method"] == "eth_call" else ""
        if not data.startswith("0x" + selector("modifyLiquidities(bytes,uint256)").hex()):
            return None
        return {"error": {"code": 3, "message": "execution reverted", "data": "0x" + unknown}}

    with Proxy(desk.devnet.url, answer) as proxy:
        ordered(with_rpc(desk, rpc=proxy.url), "compound", token_id, *GROWING)
    watching = Watching(desk)
    call = call_in(watching.order().order, NETWORK)
    looked(watching)

    assert call.entry is not None
    assert not call.entry.rest
    assert watching.order().progress.done == 1
    printed(f"compound without the rest: {gas_of(desk, watching):,} gas")


def test_a_stop_outlives_compounding(delegated: Desk) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    ordered(desk, "close", token_id, "below", level(desk, 0.95))
    ordered(desk, "compound", token_id, "over", "$0.5", "every", "10m", "times", "4")
    watching = Watching(desk)
    with market_of(desk) as market:
        for _ in range(4):
            looked(watching, times=8)
            for ticks in (90, -90, 90, -90):
                market.push(ticks)
        assert watching.order(3).progress.state is StandingState.DONE, watching.told
        assert watching.order(3).progress.done == 4
        assert watching.order(1).progress.state is StandingState.ENDED
        grown = watching.order(2)
        home = Home.locate(os.environ, desk.command.home)
        news = [each.finding.message for each in order_news(home, NETWORK, time.time())]
        assert any("order 2 replaced it" in words for words in news), news
        walked_to(market, market.tick - 700)
    looked(watching)

    assert grown.order.size == "grown"
    assert grown.progress.state is StandingState.WAITING
    assert watching.order(2).progress.state is StandingState.DONE, watching.told
    assert not desk.owns(token_id)


@pytest.mark.parametrize(
    ("side", "state"), some_of([("up", STATE), ("down", STATE), ("up", "native")], 1, seed=44)
)
def test_a_range_moves_without_a_swap_and_is_known_by_its_new_number(
    delegated: Desk, side: str, state: str
) -> None:
    desk, token_id = delegated, str(delegated.token_id(state))
    before = desk.positions()[token_id]
    shift = (120 if state == "native" else 100) * (1 if side == "up" else -1)
    ordered(desk, "move", token_id, side, "to", edge(desk, shift, state))
    watching = Watching(desk)
    order = watching.order().order
    looked(watching)
    assert not redeemable(desk, order)
    assert watching.order().progress.done == 0
    with market_of(desk, token_id) as market:
        walked_to(market, tick_of(order) + shift // 10)
    looked(watching)
    progress, after = watching.order().progress, desk.positions()

    assert progress.state is StandingState.DONE, (progress, watching.told)
    assert isinstance(progress.became, str)
    now = after[progress.became]
    assert token_id not in after
    assert [now[end] - before[end] for end in ("tickLower", "tickUpper")] == [shift, shift]
    assert int(now["amount0" if side == "up" else "amount1"]) == 0
    assert f"now #{progress.became}" in desk.here("orders").out
    assert "Burn position" in words_of(order)
    assert "Open a position" in words_of(order)
    assert gas_of(desk, watching) <= gas_limits(call_in(order, NETWORK)).least
    desk.pass_time(4_800)
    assert "moving was" in desk.here("orders").out
    printed(f"move {side}, {state}: {gas_of(desk, watching):,} gas")


def followed(desk: Desk, *, count: int, shift: int) -> None:
    side = "up" if shift > 0 else "down"
    words = (str(desk.token_id(STATE)), side, "to", edge(desk, shift), "--follow", str(count))
    signed(desk, "order", "places", *words)
    ordered(desk, "move", *words)


def test_moves_follow_one_another_and_a_stop_goes_with_them(delegated: Desk) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    ordered(desk, "close", token_id, "below", level(desk, 0.95))
    followed(desk, count=2, shift=100)
    watching = Watching(desk)
    kinds = [call_in(kept.order, NETWORK).kind for kept in watching.book.all()]
    assert kinds == ["close", "close", "close", "follow", "follow"]
    assert not redeemable(desk, watching.order(5).order)
    with market_of(desk) as market:
        walked_to(market, tick_of(watching.order(5).order) + 10)
        looked(watching, times=8)
        done = [watching.order(number).progress for number in (4, 5)]
        assert [each.state for each in done] == [StandingState.DONE] * 2, (done, watching.told)
        used = [gas_of(desk, watching, number) for number in (4, 5)]
        assert max(used) <= gas_limits(call_in(watching.order(5).order, NETWORK)).least
        last = str(done[1].became)
        assert int(desk.positions()[last]["liquidity"]) > 1
        walked_to(market, market.tick - 1900)
    looked(watching, times=5)

    states = [kept.progress.state.value for kept in watching.book.all()]
    assert last not in desk.positions(), (states, watching.told)
    # What closes the first place waits for it to be filled again.
    assert states == ["ended", "waiting", "done", "done", "done"]
    printed(f"moves in a row: {used[0]:,}, {used[1]:,} gas")


def test_the_page_says_what_a_move_means_and_warns_of_a_large_part(delegated: Desk) -> None:
    desk, small = delegated, str(delegated.token_id(STATE))
    with market_of(desk) as market:
        tick = market.tick // 10 * 10
        pool = market.state()[2]
        [large] = market.moves.mint(
            MEDIUM_PROVIDER, market.key, [(tick - 100, tick + 100)], pool // 4, desk.devnet.wallet
        )
    end = desk.positions()[str(large)]["priceUpper"] * 1.0001**100
    told = " ".join(desk.here("order", "move", str(large), "up", "to", f"{end:.2f}").out.split())
    other = desk.here("order", "move", small, "up", "to", edge(desk, 100)).out

    rows = told.index("Afterwards it stands below the price"), told.index("What was sold at")
    assert rows[0] < rows[1] < told.index("Whoever steals the watch key can destroy at most $")
    assert re.search(r"(19|20)(\.\d+)?% of its pool's liquidity: pushing the price", told), told
    assert "of its pool's liquidity" not in other


def test_hooks_subscribers_and_ranges_out_of_the_price_are_refused(delegated: Desk) -> None:
    desk, told = delegated, {}
    for ref, position in delegated.positions().items():
        words = desk.here("order", "compound", ref, "over", "$5").words
        moved = desk.here("order", "move", ref, "up", "to", str(position["priceUpper"])).words
        if int(position["hooks"], 16):
            told["hook"] = "in a pool with a hook" in words and "in a pool with a hook" in moved
        elif position["subscriber"]:
            told["subscriber"] = "no order can promise" in words
        elif position["status"] != "in range" and int(position["liquidity"]):
            told["outside"] = "out of its range and earns no fees" in words

    assert told == {"hook": True, "subscriber": True, "outside": True}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("move", "@", "up", "to", "9000"), "one order moves it as far as"),
        (("move", "@", "up", "to", "2000"), "one order moves it as far as"),
        (("move", "@", "up", "to", "3331", "--follow", "9"), "At most 8 moves"),
        (("move", "@", "sideways"), "up to 3400"),
        (("collect", "@", "over", "$2000000000"), "The largest sum of fees is $1,125,899,906"),
        (("collect", "@", "over", "$5", "in", "USDC"), "cannot collect in another coin"),
    ],
)
def test_what_no_order_can_do_is_refused(
    delegated: Desk, words: tuple[str, ...], reason: str
) -> None:
    told = delegated.here(
        "order", *(str(delegated.token_id(STATE)) if w == "@" else w for w in words)
    )

    assert told.code == 3
    assert reason in told.words


def test_nothing_is_left_unprotected_in_silence(delegated: Desk) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    ordered(desk, "close", token_id, "out-of-range", "2h")
    once = desk.here("order", "move", token_id, "up", "to", edge(desk, 50))
    row = desk.here("order", "move", token_id, "up", "to", edge(desk, 50), "--follow", "1")
    signed(desk, "order", "cancel", "1")
    Watching(desk).look()
    ordered(desk, "move", token_id, "up", "to", edge(desk, 50))
    close = desk.here("order", "close", token_id, "below", level(desk, 0.95))
    more = desk.here("order", "move", token_id, "up", "to", edge(desk, 200))
    ordered(desk, "move", token_id, "up", "to", edge(desk, 190))
    most = desk.here("order", "move", token_id, "up", "to", edge(desk, 180))

    assert "would not know the position that a move makes" in once.words
    assert "out of its range" in row.words
    assert "which this close would not cover" in close.words
    assert more.code == 0
    assert "may add up to 400 ticks" in most.words


ELSEWHERE = "0x" + "ab" * 20


def test_a_replaced_close_keeps_its_key_and_every_number_is_named(delegated: Desk) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    ordered(desk, "close", token_id, "below", level(desk, 0.95))
    refused = desk.here("order", "compound", token_id, *GROWING, "--by", ELSEWHERE)
    proposed = desk.here("order", "compound", token_id, *GROWING, "--json").data
    signed_now = desk.apply_here(proposed["planId"], "--confirm", proposed["hash"])
    again = desk.here("order", "compound", token_id, *GROWING, "--json").data
    grown = desk.here("order", "close", token_id, "below", level(desk, 0.94)).out
    orders = Watching(desk).book.all()

    assert refused.code == 3
    assert "Close 1 is carried out by another key" in refused.words
    assert "Orders 2 and 3 stand" in signed_now.out
    assert len({kept.order.delegation_signed.delegate for kept in orders}) == 1
    assert "Its minimum fits the size at signing" in " ".join(grown.split())
    assert again["besides"] == [], "a grown close stands already"


def test_moves_in_a_row_stand_beside_no_loss_stop_and_no_close_of_where_they_go(
    delegated: Desk,
) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    followed(desk, count=1, shift=100)
    place = call_in(Watching(desk).order().order, NETWORK).target
    assert place is not None
    close = desk.here("order", "close", position_name(place), "below", level(desk, 0.95))
    signed(desk, "order", "cancel", "1")
    ordered(desk, "close", token_id, "loss-over", "5%")
    row = desk.here("order", "move", token_id, "up", "to", edge(desk, 100), "--follow", "1")

    assert (close.code, row.code) == (3, 3)
    assert "Order 1 moves" in close.words
    assert "by its loss" in row.words


def test_what_another_machine_carries_out_is_cancelled_here(delegated: Desk) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    ordered(desk, "close", token_id, "below", level(desk, 0.95), "--by", ELSEWHERE)
    before = desk.here("order", "compound", token_id, *GROWING)
    signed(desk, "order", "cancel", "1")
    after = desk.here("order", "compound", token_id, *GROWING)

    assert "Close 1 is carried out by another key" in before.words
    assert after.code == 0, after.words


def test_what_waits_to_be_signed_is_held_to_what_stands_by_then(delegated: Desk) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    moves = [
        desk.here("order", "move", token_id, "up", "to", edge(desk, shift), "--json").data
        for shift in (190, 180, 170)
    ]
    compound = desk.here("order", "compound", token_id, *GROWING, "--json").data
    close = desk.here("order", "close", token_id, "below", level(desk, 0.95), "--json").data

    def applied(shown: dict[str, Any]) -> str:
        spoken = desk.apply_here(shown["planId"], "--confirm", shown["hash"])
        return " ".join((spoken.out + spoken.words).split())

    assert "Order 1 stands" in applied(moves[0])
    assert "which this close would not cover" in applied(close)
    assert "Order 2 stands" in applied(moves[1])
    assert "may add up to 400 ticks" in applied(moves[2])
    assert "Order 3 stands" in applied(compound)
    assert len(Watching(desk).book.all()) == 3


def test_what_is_signed_at_the_same_moment_is_held_to_it_too(delegated: Desk) -> None:
    """Read again, then another process signs first: the book's lock is where it is decided."""
    desk, token_id = delegated, str(delegated.token_id(STATE))
    close = desk.here("order", "close", token_id, "below", level(desk, 0.95), "--json").data
    compound = desk.here("order", "compound", token_id, *GROWING, "--json").data
    session = session_of(desk)
    drafts = [asyncio.run(waiting_order(session, each["planId"])) for each in (close, compound)]
    signer = Signer(LocalKey(demo_key(session.home.cache)), NETWORK.chain_id)
    sign_orders(session, drafts[0], signer.sign_delegation)
    with pytest.raises(GateRefusedError, match="Order 1 closes"):
        sign_orders(session, drafts[1], signer.sign_delegation)

    assert len(Watching(desk).book.all()) == 1


@pytest.mark.parametrize("what", ["condition", "holdSeconds", "delegation"])
def test_an_edited_close_is_not_copied_into_one_that_is_signed(delegated: Desk, what: str) -> None:
    desk, token_id = delegated, str(delegated.token_id(STATE))
    ordered(desk, "close", token_id, "below", level(desk, 0.95))
    watching = Watching(desk)
    path = watching.book.folder / "1.json"
    document = json.loads(path.read_text())
    edits = {
        "condition": {**document["condition"], "sqrtPrice": "4295128740"},
        "holdSeconds": 10**9,
        "delegation": delegation_text(
            watching.order().order.delegation_signed._replace(signature=bytes(65))
        ),
    }
    path.write_text(json.dumps({**document, what: edits[what]}))
    compound = desk.here("order", "compound", token_id, *GROWING)
    row = desk.here("order", "move", token_id, "up", "to", edge(desk, 50), "--follow", "1")

    for refused in (compound, row):
        assert refused.code == 3
        assert "orders/1.json" in refused.words


def session_of(desk: Desk) -> Session:
    home = Home.locate(os.environ, desk.command.home)
    flags = Flags(network="devnet", rpc=desk.rpc or desk.devnet.url)
    settings = load_settings(home.settings, os.environ, flags)
    return Session(home, settings, settings.chosen_network(), as_json=True, narrate=print)


def test_what_is_another_call_is_no_order(delegated: Desk) -> None:
    """Whoever built it: maxima, minima, owner, and what settles from the wallet."""
    desk, token_id = delegated, str(delegated.token_id(STATE))
    ordered(desk, "move", token_id, "up", "to", edge(desk, 100))
    good = Watching(desk).order().order.delegation_signed
    terms = terms_in(good.caveats)
    assert terms is not None
    call = decode_call(terms.call.data)
    assert isinstance(call, ModifyLiquidities)
    burn, mint, take = call.actions
    pool = mint.pool  # type: ignore[union-attr]
    hooked = pool._replace(hooks="0x" + "ab" * 20)
    odd: list[tuple[Any, ...]] = [
        (burn, replace(mint, owner="0x" + "ab" * 20), take),
        (burn, replace(mint, amount0_max=1), take),
        (replace(burn, amount1_min=1), mint, take),
        (burn, replace(mint, pool=hooked), take),
        (burn, replace(mint, hook_data=b"1"), take),
        (burn, replace(mint, liquidity=0), take),
        (burn, mint, mint, take),
        (mint, take),
        # What settles debts would take them from the wallet.
        (burn, mint, *(DecodedCloseCurrency(each) for each in pool[:2])),
        (burn, mint),
    ]
    for actions in odd:
        data = encode_call(ModifyLiquidities(actions, call.deadline))
        changed = terms._replace(call=terms.call._replace(data=data))
        with pytest.raises(OrderRefusedError):
            read_call(good._replace(caveats=caveats_of(changed)), NETWORK)
    assert read_call(good, NETWORK).kind == "move"
