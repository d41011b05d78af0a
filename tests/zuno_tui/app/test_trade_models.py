"""The trade desk's models over HTTP, from settings to the record, and the same again from it."""

import json
from pathlib import Path

import pytest

from agents.bus.record import FileSink, RecordWriter
from agents.bus.replay import read_record
from agents.bus.worker import Ambient
from agents.trade.flow import TRADE_FLOW, hold_desk, replay_desk
from agents.trade.routing import ROLE_ROUTES
from chain.base.clean_text import Redactor
from chain.base.home import Home
from tests.agents.trade.cases import question
from tests.agents.trade.desks import REQUEST, Seen
from tests.agents.trade.offices import REPLIES, rising_market
from tests.fakes.model_endpoint import ChatRequest, model_endpoint, says
from zuno_tui.app.session import Session
from zuno_tui.features.trade.models import open_models
from zuno_tui.settings import Flags, load_settings

pytest.importorskip("matplotlib", reason="the extra `charts` is not installed")

KEY = "sk-canary-0123456789abcdef"
FIVE = ("judge", "vlm_geometric", "liquidity", "macro")
"""Offices with a model of their own; the others share a fifth."""


def _reply(request: ChatRequest) -> object:
    return REPLIES[str(request.schema["name"])]


def _session(folder: Path, url: str) -> Session:
    server = f'base_url = "{url}"\nkey = "env:ZUNO_TEST_KEY"\n'
    own = "".join(f'[trade.models.{name}]\nname = "{name}-model"\n{server}' for name in FIVE)
    (folder / "settings.toml").write_text(f'{own}[model]\nname = "for-all"\n{server}')
    settings = load_settings(folder / "settings.toml", {}, Flags(network="devnet"))
    return Session(Home.locate({}, folder), settings, settings.chosen_network(), as_json=False)


def _holding(folder: Path, content: bytes) -> list[Path]:
    files = [one for one in folder.rglob("*") if one.is_file()]
    return [one for one in files if content in one.read_bytes()]


async def test_five_models_over_http_one_alone_sees_the_picture_and_the_record_replays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZUNO_TEST_KEY", KEY)
    monkeypatch.delenv("ZUNO_DETERMINISTIC", raising=False)
    async with model_endpoint(says(_reply, size=900)) as endpoint:
        session = _session(tmp_path, endpoint.url)
        session.home.prepare()
        path = tmp_path / f"{REQUEST}.jsonl"
        async with open_models(session) as models:
            secrets = Redactor(models.secrets)
            record = RecordWriter(FileSink(path), REQUEST, {}, secrets, flow=TRADE_FLOW.name)
            ended = await hold_desk(
                question(),
                Seen(rising_market()),
                record,
                ambient=Ambient(lambda: 1.0, lambda: REQUEST),
                request_id=REQUEST,
                model=models.model,
                names=models.names,
                artist=models.artist(path, reported=False),
                limits=models.limits,
                tokens=models.tokens,
            )
            record.close()
            assert KEY in models.secrets

    plan = ended.plan
    assert plan is not None, ended.failure
    assert plan.decided_by == "model"
    pictures = [one.model for one in endpoint.requests if "data:image" in json.dumps(one.body)]
    assert pictures == ["vlm_geometric-model"]
    kept = read_record(path)
    assert {role for role, _ in kept.replies()} == set(ROLE_ROUTES)
    assert len({reply.model for reply in kept.replies().values()}) == 5
    assert _holding(tmp_path, b"\x89PNG") == [path.with_suffix(".png")]
    assert _holding(tmp_path, KEY.encode()) == []

    report, again = await replay_desk(kept)

    assert report.matches
    assert again.plan == plan
