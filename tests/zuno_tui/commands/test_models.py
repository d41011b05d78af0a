"""`zuno recommend` and its sisters with a model: processes of their own, an endpoint over HTTP."""

import asyncio
import json
from typing import Any

import pytest

from chain.devnet.launch import DevnetReady
from tests import node_rpc
from tests.agents.lp.honest_model import honest, sceptical
from tests.fakes.model_endpoint import (
    ChatRequest,
    Conduct,
    model_endpoint,
    says,
)
from tests.zuno_tui.conftest import CommandLine, Spoken

KEY = "sk-canary-COMMAND-0123456789abcdef"
RPC_KEY = "rpc-canary-0123456789abcdef"
PLAN_FIELDS = (
    *("planId", "requestId", "kind", "position", "profile", "regime", "decidedBy", "rounds"),
    *("verdict", "assumptions", "recommended", "candidates", "hold", "exit", "rejected"),
    *("transcript", "claims", "budget", "sources"),
)


class Desk:
    """The command line with a key of its own, beside an endpoint in this process."""

    def __init__(self, zuno: CommandLine, devnet: DevnetReady) -> None:
        self._zuno = zuno
        self._network = ("--network", "devnet", "--rpc", f"{devnet.url}/?key={RPC_KEY}")
        self.home = zuno.home
        self.said: list[Spoken] = []

    async def run(
        self, conduct: Conduct, *arguments: str, **environment: str
    ) -> tuple[Spoken, list[ChatRequest]]:
        async with model_endpoint(conduct) as endpoint:
            spoken = await asyncio.to_thread(
                self._zuno,
                *arguments,
                *self._network,
                **{"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": endpoint.url, **environment},
            )
        self.said.append(spoken)
        return spoken, endpoint.requests

    def offline(self, *arguments: str) -> Spoken:
        """With no key and no network."""
        spoken = self._zuno(*arguments, OPENAI_API_KEY="", ZUNO_RPC="http://127.0.0.1:9")
        self.said.append(spoken)
        return spoken

    def write(self, settings: str) -> None:
        self.home.mkdir(exist_ok=True)
        (self.home / "settings.toml").write_text(settings)

    @property
    def told(self) -> str:
        """Everything it printed and everything it keeps."""
        files = [path for path in self.home.rglob("*") if path.is_file()]
        kept = [path.read_bytes().decode("latin-1") for path in files]
        assert any(path.suffix == ".jsonl" for path in files)
        return "".join([*kept, *(spoken.out + spoken.words for spoken in self.said)])


@pytest.fixture
def desk(zuno: CommandLine, devnet: DevnetReady) -> Desk:
    return Desk(zuno, devnet)


@pytest.fixture
def edge(devnet: DevnetReady) -> str:
    """A position that is worth arguing about."""
    status = node_rpc.ask(devnet.url, "zuno_status")
    return str(status["positions"]["above its range"])


async def test_a_model_argues_and_everything_is_kept_but_the_secrets(desk: Desk, edge: str) -> None:
    desk.write('[model.prices]\n"gpt-4o-mini" = [0.15, 0.6]\n')
    spoken, requests = await desk.run(says(sceptical), "recommend", edge, "--json", "--stream")

    assert spoken.code == 0, spoken.words
    plan = spoken.data
    assert plan.keys() >= set(PLAN_FIELDS)
    assert len(requests) == 6
    assert all(request.headers["authorization"] == f"Bearer {KEY}" for request in requests)
    assert plan["decidedBy"] == "arbiter"
    assert plan["claims"]["cited"] > 6
    assert plan["claims"]["struck"] == 0
    assert plan["budget"]["tokens"] == 6 * 165 == sum(plan["budget"]["byRole"].values())
    assert plan["budget"]["dollars"] == pytest.approx(6 * (120 * 0.15 + 45 * 0.6) / 10**6)
    # Into a pipe each statement goes once, checked.
    assert spoken.words.count("scout        ▸ model: The floor is 24 h, and that is what") == 1
    kept = json.loads((desk.home / "plans" / f"{plan['planId']}.json").read_text())
    assert kept == plan
    for command in ("plan", "explain"):
        assert desk.offline(command).code == 0
    again = desk.offline("replay", plan["requestId"], "--json").data
    assert (again["matches"], again["complete"]) == (True, True)
    assert again["planId"] == plan["planId"]
    assert KEY not in desk.told
    assert RPC_KEY not in desk.told


async def test_a_phrase_is_argued_about_within_its_budget(desk: Desk) -> None:
    desk.write("[model.budget]\ndebate_tokens = 1000\n")
    spoken, requests = await desk.run(
        says(honest, size=200), "create", "0.5 WETH with USDC, conservative", "--json"
    )
    assert spoken.code == 0, spoken.words
    assert requests == []
    silences = _silences(spoken.data)
    assert silences
    assert all("of the 1,000 for this debate, 0 are used" in text for text in silences)
    assert spoken.data["budget"]["tokens"] == 0
    often = "once" if len(silences) == 1 else f"{len(silences)} times"
    times = f"Fixed rules replaced the model {often}. The next question may"
    assert times in desk.offline("plan").out

    desk.write("")
    spoken, requests = await desk.run(
        says(honest, size=200), "create", "0.5 WETH with USDC, conservative", "--json"
    )
    # Where no pool pays its risk there is nothing to argue about: the Scout's model looks alone.
    assert [request.reply_name for request in requests] == ["ScoutReply"]
    assert _silences(spoken.data) == []
    assert spoken.data["kind"] == "create"


async def test_a_setting_that_cannot_be_used_is_a_usage_error(desk: Desk, edge: str) -> None:
    desk.write('[model]\nname = "own"\n[model.budget]\nday_usd = 1\n')
    spoken, requests = await desk.run(says(honest, size=200), "recommend", edge)
    assert spoken.code == 2
    assert "no price is set for 'own'" in spoken.words
    assert requests == []


def _silences(plan: dict[str, Any]) -> list[str]:
    return [turn["text"] for turn in plan["transcript"] if turn["tag"] == "silence"]
