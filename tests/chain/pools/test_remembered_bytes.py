"""What is remembered between runs keeps its form: earlier homes read, and are written the same."""

import json
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.base.units import Known
from chain.contracts.networks import network_named
from chain.contracts.pool_key import PoolKey
from chain.history.events import FeeTerms, LogProof
from chain.history.hour_reader import HourMemory
from chain.history.hours import HourRow, KeptHours, Landmark, PaidPiece, RecentSwap
from chain.math.fees import FeeGrowth, ProtocolFee
from chain.protocols.past import LogPlace, PoolMark
from chain.protocols.reference import v4_position
from chain.protocols.snapshot import identify
from chain.protocols.v3.pool_key import v3_pool_key
from chain.protocols.v4.changes import ChangeMemory, PastChanges
from chain.protocols.v4.circumstances import ChangeCircumstances
from chain.protocols.v4.events import ModifyLiquidityEvent
from chain.protocols.v4.holdings import Holdings
from chain.protocols.v4.memory import PositionMemory
from chain.survey.discovery import LogCoverage, PoolMemory, RememberedSurvey, SurveyCursor

BASE = network_named("base")
NOW = 1_800_000_000.0
WIDE = 2**200
HASH, SENT = "0x" + "ab" * 32, "0x" + "cd" * 32
ONE, TWO, WALLET = "0x" + "00" * 20, "0x" + "22" * 20, "0x" + "33" * 20
KEY = PoolKey(ONE, TWO, 500, 10, ONE)
KEY_ROW = [ONE, TWO, 500, 10, ONE]
POSITION = identify(v4_position(WIDE), KEY, -600, 600)
PLACE = LogPlace(7, 3, HASH, SENT)


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.in_memory() as store:
        yield store


def kept(store: Store, namespace: str) -> object:
    [value] = store.items(namespace).values()
    return value


def spoil(store: Store, namespace: str, text: str, other: str) -> None:
    """Change what is kept, as another hand or another version would."""
    [(key, value)] = store.items(namespace).items()
    changed = json.dumps(value).replace(text, other)
    assert json.loads(changed) != value
    store.put(namespace, key, json.loads(changed), now=NOW)


def test_hours(store: Store) -> None:
    hour = 1_700_000_000 // 3600 * 3600
    swap = RecentSwap(7, hour + 5, True, True, 5, WIDE, 9, 500)
    later = RecentSwap(9, hour + 9, False, False, WIDE, WIDE - 3, 9, 500)
    path = (PaidPiece(-60, 0, 0.5, 1e-30),)
    row = HourRow(hour, WIDE - 3, WIDE - 3, WIDE, 1, WIDE, 0.25, 1e-30, 0.5, 2, 1, path)
    last = Landmark(9, HASH, hour + 9)
    kept_hours = KeptHours(
        hour,
        True,
        last,
        (Landmark(7, SENT, hour + 5),),
        (row,),
        (swap, later),
        hour,
        LogProof(9, PoolMark(WIDE, 2**255, 7), 0.5, 1e-30, 0.25),
        WIDE - 1,
    )
    terms = FeeTerms(500, ProtocolFee(0, 0))
    memory = HourMemory(store, BASE, lambda: NOW)
    memory.save({KEY.pool_id: kept_hours}, hour)

    assert kept(store, "hours by move") == {
        "since": hour,
        "whole": True,
        "last": [9, HASH, hour + 9],
        "landmarks": [[7, SENT, hour + 5]],
        "rows": [
            [
                hour,
                WIDE - 3,
                WIDE - 3,
                WIDE,
                1,
                WIDE,
                0.25,
                1e-30,
                0.5,
                2,
                1,
                [[-60, 0, 0.5, 1e-30]],
            ]
        ],
        "swaps_since": hour,
        "proof": [9, [WIDE, 2**255, 7], 0.5, 1e-30, 0.25],
        "opening": WIDE - 1,
    }
    assert memory.load(KEY.pool_id, terms) == kept_hours
    spoil(store, "hours by move", "true", "null")
    assert memory.load(KEY.pool_id, terms) is None


def test_changes(store: Store) -> None:
    sender = BASE.contracts.position_manager
    event = ModifyLiquidityEvent(
        PLACE, KEY.pool_id, sender, -600, 600, -WIDE, POSITION.ref.token_id
    )
    seen = ChangeCircumstances(
        1_700_000_000,
        Known(WIDE, "PoolManager storage", 6),
        Known(FeeGrowth(1, WIDE), "PoolManager storage", 7),
        Known(21_000, "receipt", 7),
    )
    past = PastChanges(9, HASH, ((event, seen),))
    memory = ChangeMemory(store, BASE, lambda: NOW)
    memory.save({POSITION.ref: past})

    figures = [-WIDE, 1_700_000_000, WIDE, "PoolManager storage", 6, 1, WIDE, 21_000]
    row = [7, 3, HASH, SENT, *figures]
    assert kept(store, "changes") == {"through": 9, "hash": HASH, "events": [row]}
    assert memory.load([POSITION]) == {POSITION.ref: past}
    spoil(store, "changes", "21000", '"21000"')
    assert memory.load([POSITION]) == {}


def test_positions_and_what_a_wallet_held(store: Store) -> None:
    memory = PositionMemory(store, BASE, lambda: NOW)
    memory.remember([POSITION])
    held = Holdings(9, HASH, frozenset((v4_position(WIDE), v4_position(3))), frozenset((TWO, ONE)))
    memory.remember_checkpoints({WALLET: [held]})

    assert kept(store, "position") == [*KEY_ROW, -600, 600]
    written = {"through": 9, "hash": HASH, "held": [3, WIDE], "operators": [ONE, TWO]}
    written |= {"approvals_from": 0}
    assert kept(store, "holdings") == [written]
    again = PositionMemory(store, BASE, lambda: NOW)
    assert again.identities([v4_position(WIDE)]) == {v4_position(WIDE): POSITION}
    assert again.checkpoints(WALLET) == (held,)
    spoil(store, "position", "-600", '"-600"')
    spoil(store, "holdings", f'"{HASH}"', "null")
    assert PositionMemory(store, BASE, lambda: NOW).identities([v4_position(WIDE)]) == {}
    assert again.checkpoints(WALLET) == ()


def test_surveyed_pools(store: Store) -> None:
    memory = PoolMemory(store, BASE, [ONE, TWO])
    cursor = SurveyCursor(9, HASH, (KEY,))
    survey = RememberedSurvey((KEY,), LogCoverage(1, 9, 12, "too slow"), NOW)
    memory.keep_cursor(cursor, now=NOW)
    memory.keep_survey(survey)

    assert kept(store, "initialised pools") == {"through": 9, "hash": HASH, "keys": [KEY_ROW]}
    coverage = {"first": 1, "through": 9, "head": 12, "failure": "too slow"}
    assert kept(store, "pool survey") == {"keys": [KEY_ROW], **coverage}
    assert (memory.cursor(), memory.survey()) == (cursor, survey)
    beside = replace(survey, others=(v3_pool_key(ONE, ONE, TWO, 500, 10),))
    memory.keep_survey(beside)
    assert memory.survey() == beside
    memory.keep_survey(survey)
    spoil(store, "initialised pools", HASH, "")
    spoil(store, "pool survey", "12", "true")
    assert memory.cursor() == SurveyCursor(9, "", (KEY,))
    assert memory.survey() is None
