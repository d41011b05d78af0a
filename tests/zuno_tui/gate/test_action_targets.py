"""What an action is about: read at one block, whose it is, and how it is named."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from chain.contracts.addresses import checksummed
from chain.contracts.delegation import NOBODY
from chain.contracts.networks import NATIVE, network_named
from chain.execution.build.facts import FactsUnknownError, PoolFacts, position_facts
from chain.execution.build.requests import DelegateRequest
from chain.positions.custody import Custody
from chain.positions.reference import v4_position
from tests.agents.monitor.made_up_positions import KEY, block, position
from tests.fakes.told_reader import ToldReader
from tests.zuno_tui.gate.test_dry_run import ACTION
from zuno_tui.gate.actions import action as acting
from zuno_tui.gate.actions import wallet as of_wallet
from zuno_tui.gate.actions.action import (
    ActionTarget,
    TargetKind,
    owned_position,
    owned_positions,
    pair_of,
    read_subject,
    read_wallet,
    spendable_tokens,
    subject_of,
)
from zuno_tui.gate.actions.wallet import action_to_delegate
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.worth import ActionWorth

if TYPE_CHECKING:
    from chain.positions.overview import Sources
    from chain.positions.snapshot import PositionSnapshot

BASE = network_named("base")
OWNER, OTHER = "0x" + "aa" * 20, "0x" + "bb" * 20
POOL = PoolFacts(KEY, 5, 500)
ELSEWHERE = replace(KEY, fee=500)


def _mine(number: int = 7, owner: str = OWNER) -> PositionSnapshot:
    return replace(position(0, number=number), custody=Custody(owner, None, None))


def test_what_it_is_about_has_a_name_and_what_is_read_again() -> None:
    pool = TargetKind(pool=KEY)
    assert (str(TargetKind()), TargetKind().refs) == ("wallet", ())
    assert (str(pool), pool.refs) == (f"pool {KEY.pool_id}", ())
    assert (str(TargetKind(v4_position(7))), TargetKind(v4_position(7)).refs) == (
        "position #7",
        (7,),
    )
    several = TargetKind(v4_position(7), others=(v4_position(8), v4_position(9)))
    assert (str(several), several.refs) == ("positions #7, #8, #9", (7, 8, 9))


def test_positions_and_their_pools_or_the_pool_that_is_entered() -> None:
    one, two = _mine(), _mine(8)
    third = replace(_mine(9), pool=replace(one.pool, key=ELSEWHERE))
    facts = PoolFacts(KEY, one.pool.sqrt_price_x96, one.pool.lp_fee)
    several = subject_of(one, two, third)

    assert several == ActionTarget(one.block, facts, one, (two, third))
    assert several.snapshots == (one, two, third)
    assert several.positions == {each.ref: position_facts(each) for each in (one, two, third)}
    assert [pool.key for pool in several.pools] == [KEY, ELSEWHERE]
    assert several.about == TargetKind(v4_position(7), others=(v4_position(8), v4_position(9)))
    assert subject_of(one).about == TargetKind(v4_position(7))

    entered, bare = ActionTarget(block(100), POOL), ActionTarget(block(100))
    assert (entered.pools, entered.about, entered.positions) == (
        (POOL,),
        TargetKind(pool=KEY),
        {},
    )
    assert (bare.pools, bare.about, bare.snapshots) == ((), TargetKind(), ())


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> dict[int, PositionSnapshot]:
    """The positions that the chain has."""
    there: dict[int, PositionSnapshot] = {7: _mine(), 8: _mine(8), 9: _mine(9, OTHER)}

    async def read_positions(
        client: str, network: object, memory: str, asked: object, *, at: str
    ) -> dict[int, PositionSnapshot]:
        assert (client, network, at) == ("client", BASE, "0xb1")
        assert memory in ("memory", "no memory")
        ids = tuple(cast("Any", asked))
        return {token_id: there[token_id] for token_id in ids if token_id in there}

    monkeypatch.setattr(acting, "read_positions", read_positions)
    monkeypatch.setattr(acting, "read_positions", read_positions)
    return there


def _sources(**parts: object) -> Sources:
    fresh = SimpleNamespace(client="client", network=BASE, memory="no memory")
    usual: dict[str, object] = {
        "client": "client",
        "network": BASE,
        "memory": "memory",
        "without_memory": lambda: fresh,
    }
    return cast("Sources", SimpleNamespace(**{**usual, **parts}))


async def test_positions_are_read_again_and_all_of_them_must_be_there(
    found: dict[int, PositionSnapshot],
) -> None:
    one, several = TargetKind(v4_position(7)), TargetKind(v4_position(7), others=(v4_position(8),))
    assert await read_subject(_sources(), one, "0xb1") == subject_of(found[7])
    assert await read_subject(_sources(), several, "0xb1") == subject_of(found[7], found[8])
    for missing in (
        TargetKind(v4_position(6)),
        TargetKind(v4_position(7), others=(v4_position(6),)),
        TargetKind(v4_position(6), others=(v4_position(7),)),
    ):
        assert await read_subject(_sources(), missing, "0xb1") is None


async def test_a_position_is_the_wallets_or_refused(found: dict[int, PositionSnapshot]) -> None:
    assert await owned_position(_sources(), v4_position(7), OWNER, "0xb1") is found[7]
    assert await owned_positions(_sources(), [v4_position(8), v4_position(7)], OWNER, "0xb1") == (
        found[8],
        found[7],
    )
    with pytest.raises(GateRefusedError, match="There is no position #6 on Base"):
        await owned_positions(_sources(), [v4_position(7), v4_position(6)], OWNER, "0xb1")
    with pytest.raises(GateRefusedError, match="Position #9 belongs to") as refused:
        await owned_position(_sources(), v4_position(9), OWNER, "0xb1")
    assert f"{checksummed(OTHER)}, and the wallet is {checksummed(OWNER)}" in str(refused.value)


async def test_a_pool_is_read_at_the_block_and_missed_where_it_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = SimpleNamespace(key=KEY, sqrt_price_x96=5, lp_fee=500)
    states = [state]

    async def read_slots(here: Any, network: object, _: object) -> object:
        assert (here.at, network) == ("0xb1", BASE)
        return SimpleNamespace(words="words")

    def pool_states(keys: object, words: object) -> list[object]:
        assert (keys, words) == ([KEY], "words")
        return list(states)

    monkeypatch.setattr(acting, "read_slots", read_slots)
    monkeypatch.setattr(acting, "pool_states", pool_states)
    monkeypatch.setattr(
        acting, "OneBlock", lambda *given: SimpleNamespace(at=given[2], block=block(100))
    )
    about = TargetKind(pool=KEY)
    assert await read_subject(_sources(), about, "0xb1") == ActionTarget(block(100), POOL)
    states.clear()
    assert await read_subject(_sources(), about, "0xb1") is None


async def test_the_wallet_alone_is_about_a_block() -> None:
    blocks: list[object] = [block(90), None]
    reader = ToldReader(lambda *_: blocks.pop(0))

    async def head() -> object:
        return block(100)

    asked = SimpleNamespace(head=head, ask=reader.ask)
    sources = _sources(client=asked)
    assert await read_wallet(sources) == ActionTarget(block(100))
    assert await read_subject(sources, TargetKind()) == ActionTarget(block(100))
    there = block(90).hash
    assert await read_subject(sources, TargetKind(), there) == ActionTarget(block(90))
    assert reader.asked[0][1][0] == there
    with pytest.raises(FactsUnknownError, match="block to build on is unknown"):
        await read_wallet(sources, there)


def test_what_may_be_spent_is_the_pair_and_the_coin_its_wrapped_form_is_made_of() -> None:
    wrapped = replace(KEY, currency1=str(BASE.wrapped_native))
    assert pair_of(KEY) == (KEY.currency0, KEY.currency1)
    assert spendable_tokens(BASE, KEY) == (KEY.currency0, KEY.currency1)
    assert spendable_tokens(BASE, wrapped) == (KEY.currency0, wrapped.currency1, NATIVE)
    worth = replace(ACTION, usd_per_unit={KEY.currency0: 0.5}).worth
    assert worth == {KEY.currency0: Fraction(500_000)}


DELEGATE = str(BASE.contracts.delegate)


def _lent(delegate: str) -> bytes:
    return bytes.fromhex("ef0100") + bytes.fromhex(delegate[2:])


@pytest.mark.parametrize(
    ("code", "back", "expected"),
    [
        (b"", False, DelegateRequest(DELEGATE)),
        (b"", True, "is not delegated: there is nothing to undo"),
        (_lent(DELEGATE), False, "Plans go as one transaction already"),
        (_lent(DELEGATE), True, DelegateRequest(NOBODY, cancels_orders=True)),
        (_lent(OTHER), False, "runs other code already, which zuno leaves alone"),
        (_lent(OTHER), True, DelegateRequest(NOBODY, cancels_orders=False)),
        (b"\x60\x60", False, "This is a contract wallet"),
        (b"\x60\x60", True, "is not delegated: there is nothing to undo"),
    ],
)
async def test_an_account_is_lent_and_taken_back(
    monkeypatch: pytest.MonkeyPatch, code: bytes, back: bool, expected: DelegateRequest | str
) -> None:
    async def worth(*given: object) -> ActionWorth:
        assert given[1:] == ((NATIVE,), block(100))
        return ActionWorth({}, {}, 3.0, ("disputed",))

    async def wallet(_: object) -> ActionTarget:
        return ActionTarget(block(100))

    monkeypatch.setattr(of_wallet, "read_worth", worth)
    monkeypatch.setattr(of_wallet, "read_wallet", wallet)
    reader = ToldReader(lambda *_: code)
    sources = _sources(client=reader)
    if isinstance(expected, str):
        with pytest.raises(GateRefusedError, match=expected):
            await action_to_delegate(sources, OWNER, back=back)
    else:
        found = await action_to_delegate(sources, OWNER, back=back)
        assert (found.request, found.subject) == (expected, ActionTarget(block(100)))
        assert found.plan_id == ("undelegate_100" if back else "delegate_100")
        assert found.headline.startswith("End orders" if back else "Prepare the account")
        assert (found.tokens, found.usd_per_wei, found.disputes) == ((), 3.0, ("disputed",))
    assert reader.asked[0][1][0] == OWNER
    bare = replace(BASE, contracts=replace(BASE.contracts, delegate=None))
    with pytest.raises(GateRefusedError, match="No code that carries out batches is known on Base"):
        await action_to_delegate(_sources(client=reader, network=bare), OWNER, back=back)
