"""A week of hourly polls, hedges among the alerts: the monitor sends no envelope of any flow."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent.parent

_WEEK = """
import asyncio, json, sys
from pathlib import Path
from agents.monitor.alerts.store import AlertStore
from agents.monitor.rules.risks import HeldHedge
from agents.monitor.rules.thresholds import Thresholds, WatchSettings
from chain.base.home import Home
from chain.contracts.networks import network_named
from chain.exchange.orders.hedge import HedgeStart
from chain.exchange.orders.journal import TradeJournal
from chain.protocols.reference import v4_position
from tests.agents.monitor.made_up_alerts import NOW, WALLET
from tests.agents.monitor.made_up_positions import KEY, NETWORK, UPPER, position
from tests.agents.monitor.made_up_readings import MadeUpChain
from zuno_tui.settings import Settings
from zuno_tui.features.trade.watched_hedges import HomeHedges
import zuno_tui.app.watchlist

folder = Path(sys.argv[1])
home = Home(folder, folder / "cache")
home.prepare()
start = HedgeStart(chain_id=NETWORK.chain_id, token_id="7", wallet=WALLET, coin="ONE",
    symbol="ONEUSDT", token=KEY.currency0, ratio=0.5, amount0="0", amount1="0",
    sqrt_price_x96="1", mark=1.0, block=1, time=0.0)
with TradeJournal.open(home.trades) as journal:
    plan_id = "plan_1"
    journal.begin(plan_id, "paper:Binance", [], 0.0, start)
read = asyncio.run(HomeHedges(home, Settings(), NETWORK).held_hedges())
assert asyncio.run(HomeHedges(home, Settings(), NETWORK).tend_trades()) == {}
chain = MadeUpChain(AlertStore.open(home, now=NOW), WatchSettings(Thresholds()))
kinds = set()
for hour in range(7 * 24):
    drifted = HeldHedge(WALLET, "ONE", KEY.currency0, 0.5, float(hour % 5))
    chain.hedges = {**read, v4_position(7): drifted}
    tick = UPPER + 400 if hour % 12 > 8 else 0
    held = [position(tick, number=31)] if hour % 24 > 20 else None
    events = chain.poll([(chain.head + 5, tick)], positions=held)
    kinds |= {one.alert.kind.value for one in events}
flows = ("agents.bus", "agents.lp", "agents.trade")
loaded = sorted(name for name in sys.modules if name.startswith(flows))
folders = [part for part in (home.records, home.plans) if part.exists()]
kept = sorted(one.name for part in folders for one in part.iterdir())
known = list(map(str, read))
print(json.dumps({"read": known, "kinds": sorted(kinds), "flows": loaded, "kept": kept}))
"""


def test_a_week_of_alerts_sends_no_envelope_of_any_flow(tmp_path: Path) -> None:
    """Nothing that makes or carries an envelope is even loaded, and nothing is recorded."""
    done = subprocess.run(
        [sys.executable, "-c", _WEEK, str(tmp_path / "home")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)

    assert told["read"] == ["7"]
    assert {"hedge_drifted", "hedge_stale", "out_of_range"} <= set(told["kinds"])
    assert told["flows"] == []
    assert told["kept"] == []
