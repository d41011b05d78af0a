"""Transfers add up to holdings, in whatever pieces the logs arrive."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chain.contracts.abi import AbiError
from chain.protocols.reference import v4_position
from chain.protocols.v4.holdings import (
    APPROVAL_FOR_ALL,
    TRANSFER,
    Holdings,
    custody_topics,
    minted_in,
    worth_keeping,
)
from chain.rpc.records import Log

ME = "0x" + "11" * 20
PEOPLE = [ME, "0x" + "22" * 20, "0x" + "33" * 20, "0x" + "00" * 20]


def word(address: str) -> str:
    return "0x" + "00" * 12 + address[2:]


def log(block: int, index: int, topics: tuple[str, ...], data: bytes = b"") -> Log:
    return Log("0x" + "99" * 20, topics, data, block, "0x", "0x", 0, index, removed=False)


def transfer(block: int, index: int, sender: str, to: str, token_id: int) -> Log:
    return log(block, index, (TRANSFER, word(sender), word(to), f"0x{token_id:064x}"))


def approval(block: int, index: int, operator: str, *, approved: bool) -> Log:
    topics = (APPROVAL_FOR_ALL, word(ME), word(operator))
    return log(block, index, topics, int(approved).to_bytes(32, "big"))


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Log], set[int]]:
    """Transfers as a contract would emit them, and who holds what at the end."""
    owners: dict[int, str] = {}
    logs: list[Log] = []
    block = 1
    for index in range(draw(st.integers(0, 30))):
        block += draw(st.integers(0, 2))
        token_id = draw(st.integers(1, 5))
        sender = owners.get(token_id, PEOPLE[3])
        to = draw(st.sampled_from(PEOPLE))
        if sender == to == PEOPLE[3]:
            continue
        owners[token_id] = to
        if ME in (sender, to):
            logs.append(transfer(block, index, sender, to, token_id))
    return logs, {token_id for token_id, owner in owners.items() if owner == ME}


@given(histories(), st.data())
def test_holdings_do_not_depend_on_how_the_logs_are_cut(
    history: tuple[list[Log], set[int]], data: st.DataObject
) -> None:
    logs, truth = history
    last = max((one.block_number for one in logs), default=1)
    holdings = Holdings.before(0)
    cuts = sorted(data.draw(st.sets(st.integers(0, last), max_size=4)) | {last})
    for cut in cuts:
        # Each piece may reach back further than needed, and in any order.
        piece = data.draw(st.permutations([one for one in logs if one.block_number <= last]))
        holdings = holdings.after(piece, ME, cut, "0x")
    assert holdings.held == set(map(v4_position, truth))
    assert holdings.through == last


def test_a_transfer_to_oneself_keeps_the_token() -> None:
    logs = [transfer(1, 0, PEOPLE[3], ME, 7), transfer(1, 1, ME, ME, 7)]
    assert Holdings.before(0).after(logs, ME, 1, "0x").held == {v4_position(7)}


def test_operators_come_and_go() -> None:
    logs = [
        approval(1, 0, PEOPLE[1], approved=True),
        approval(1, 1, PEOPLE[2], approved=True),
        approval(2, 0, PEOPLE[1], approved=False),
    ]
    start = Holdings.before(0)
    assert start.after(logs, ME, 1, "0x").operators == {PEOPLE[1], PEOPLE[2]}
    assert start.after(logs, ME, 2, "0x").operators == {PEOPLE[2]}


def test_a_transfer_of_no_token_is_no_transfer() -> None:
    with pytest.raises(AbiError):
        Holdings.before(0).after([log(1, 0, (TRANSFER, word(ME), word(ME)))], ME, 1, "0x")


def test_only_mints_are_births() -> None:
    logs = [transfer(3, 0, PEOPLE[3], ME, 7), transfer(5, 0, PEOPLE[1], ME, 8)]
    assert minted_in(logs) == {v4_position(7): 3}


def test_filters_name_the_wallet_on_either_side() -> None:
    arriving, leaving = custody_topics(ME)
    assert arriving == (TRANSFER, None, word(ME))
    assert leaving == ((TRANSFER, APPROVAL_FOR_ALL), word(ME))


@given(st.lists(st.integers(0, 100), unique=True), st.integers(-1, 100))
def test_checkpoints_are_kept_where_a_reorg_can_fall_back_to(blocks: list[int], final: int) -> None:
    checkpoints = [Holdings(through, "0x") for through in sorted(blocks)]
    remaining = worth_keeping(checkpoints, final)
    assert len(remaining) <= 3
    assert list(remaining) == sorted(remaining, key=lambda one: one.through)
    if checkpoints:
        assert remaining[-1] == checkpoints[-1]
    settled = [one for one in checkpoints if one.through <= final]
    if settled:
        assert settled[-1] in remaining
