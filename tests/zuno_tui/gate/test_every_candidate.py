"""Every demo position, every candidate the floors let through, and leaving: shown and realised."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from chain.contracts.networks import network_named
from chain.tokens import listed_token
from tests import node_rpc
from tests.embedded_chain import embedded_chain
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import REFUSED, Desk, assert_nothing_left, assert_within_bounds
from zuno_tui.present.output import OutputColumn, table
from zuno_tui.present.words import amount_of

DEVNET = network_named("devnet")
MOST_IDLE = 0.036
"""Of a move: what is given up for drift, and what the range's proportion leaves over."""
_COLUMNS = (
    *(OutputColumn(title) for title in ("POSITION", "CHOICE", "TICKS")),
    *(
        OutputColumn(title, "right")
        for title in ("SHOWN", "REALISED", "DIFFERENCE", "IDLE", "DRIFT")
    ),
    *(OutputColumn(title) for title in ("LEFT IN ROUTER, MANAGER", "STILL ALLOWED")),
)


@dataclass(frozen=True)
class Outcome:
    cells: tuple[str, ...]
    idle: float | None = None
    refusal: str | None = None


def _amounts(amounts: dict[str, int]) -> str:
    told = []
    for token, amount in amounts.items():
        listed = listed_token(DEVNET, token)
        assert listed is not None
        sign = "−" if amount < 0 else "+"
        told.append(f"{sign}{amount_of(abs(amount), listed.token)} {listed.token.symbol}")
    return " ".join(told)


def _worth(desk: Desk, pool_id: str, amounts: list[int]) -> int:
    """In units of the pool's second token."""
    return amounts[1] + (amounts[0] * desk.price(pool_id) ** 2 >> 192)


def _outcome(desk: Desk, plan: dict[str, Any], named: str, one: dict[str, Any]) -> Outcome:
    held = [int(plan["exit"]["amount0"]), int(plan["exit"]["amount1"])]
    whole = _worth(desk, one["poolId"], held)
    approval = desk.here("approve", plan["planId"], "--candidate", named, "--json")
    if approval.code == REFUSED:
        why = " ".join(approval.words.split())
        return Outcome(("–", f"refused: {why}"), refusal=why)
    assert approval.code == 0, approval.words
    shown = approval.data
    applied = desk.apply_here(plan["planId"], "--confirm", shown["hash"], "--json")
    assert applied.code == 0, applied.words
    result = applied.data
    assert_within_bounds(shown, result)
    assert_nothing_left(desk, shown["tokens"])
    positions = desk.positions()
    assert plan["position"] not in positions
    ticks, idle = "none", None
    if named == "exit":
        assert result["newTokenId"] is None
    else:
        new = positions[result["newTokenId"]]
        assert (new["tickLower"], new["tickUpper"]) == (one["tickLower"], one["tickUpper"])
        assert new["poolId"] == one["poolId"]
        ticks = f"{new['tickLower']}…{new['tickUpper']} as planned"
        came = [int(result["realised"][token]) for token in shown["tokens"]]
        idle = _worth(desk, one["poolId"], came) / whole
    quoted = {token: int(amount) for token, amount in shown["quoted"].items()}
    realised = {token: int(amount) for token, amount in result["realised"].items()}
    difference = {token: realised[token] - quoted[token] for token in quoted}
    through = [each for each in result["allowances"] if each["throughPermit2"]]
    return Outcome(
        (
            ticks,
            _amounts(quoted),
            _amounts(realised),
            "0" if not any(difference.values()) else _amounts(difference),
            "–" if idle is None else f"{idle:.2%}",
            f"±{shown['driftBips']:g} bips",
            "nothing",
            "nothing" if not through else f"{len(through)} until they expire",
        ),
        idle,
    )


@pytest.mark.soak
@pytest.mark.parametrize(("seed", "world"), [(7, "small"), (3, "week")])
def test_every_candidate_of_every_position(
    seed: int,
    world: Literal["small", "week"],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcomes: dict[tuple[str, str], Outcome] = {}
    with embedded_chain(seed=seed, world=world) as chain:
        desk = Desk(chain, CommandLine(tmp_path / "first"), capsys)
        positions = desk.ask("zuno_status")["positions"]
        held = {state: str(one) for state, one in positions.items() if str(one) in desk.positions()}
        for state in held:
            plan = desk.recommended(state)
            for one in (*plan["candidates"], plan["exit"]):
                named = "exit" if one["index"] is None else str(one["index"])
                before = desk.ask("evm_snapshot")
                outcomes[state, named] = _outcome(desk, plan, named, one)
                node_rpc.take_back(chain.url, before)
                # What is taken back on the chain must be forgotten at the desk as well.
                fresh = CommandLine(tmp_path / f"{state}-{named}")
                fresh.home.mkdir(mode=0o700)
                (desk.command.home / "plans").rename(fresh.home / "plans")
                desk = Desk(chain, fresh, capsys)
    _print(outcomes, capsys)
    for (state, _), outcome in outcomes.items():
        assert outcome.idle is None or outcome.idle <= MOST_IDLE
        if outcome.refusal is None or "was ruled out" in outcome.refusal:
            continue
        assert state in ("emptied", "hooked"), outcome.refusal
        assert "no liquidity" in outcome.refusal or "dangerous" in outcome.refusal


def _print(outcomes: dict[tuple[str, str], Outcome], capsys: pytest.CaptureFixture[str]) -> None:
    carried_out = {name: one for name, one in outcomes.items() if one.refusal is None}
    rows = [
        (*name, *one.cells, *("" for _ in range(len(_COLUMNS) - 2 - len(one.cells))))
        for name, one in carried_out.items()
    ]
    with capsys.disabled():
        for line in ("", *table(_COLUMNS, rows)):
            print(line)  # noqa: T201 - the table it is to show
        for (state, named), one in outcomes.items():
            if one.refusal is not None:
                print(f"{state} {named} refused: {one.refusal}")  # noqa: T201
        print(f"{len(carried_out)} carried out, {len(outcomes) - len(carried_out)} refused")  # noqa: T201
