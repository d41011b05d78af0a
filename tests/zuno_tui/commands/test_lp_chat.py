"""What somebody with liquidity asks in a chat, on a home with a plan: sixty questions."""

import asyncio
import re
from pathlib import Path

import pytest

from chain.base.home import Home
from chain.devnet.launch import DevnetReady
from tests.printed import printed
from tests.zuno_tui.gate.taken_back import desk_at
from zuno_tui.app.session import Session
from zuno_tui.features.trade.chat import chat_answer
from zuno_tui.settings import Flags, load_settings

LEFT = 5
PLAN, POSITION, EARNED = r"newest plan of #OUT", r"#?(OUT|IN)\b", r"fees|earned|\$"
QUESTIONS = (
    *(
        (text, PLAN)
        for text in (
            "what should I do with OUT",
            "what did the agents say about OUT",
            "should I hold OUT?",
            "/plan OUT",
            "any advice on #OUT?",
            "should i move OUT",
            "is it worth rebalancing OUT",
            "recommend OUT",
            "what does the plan for OUT say",
            "should I close OUT",
            "what do the agents think of OUT",
            "verdict on OUT",
            "tell me the plan for #OUT",
        )
    ),
    *((text, "IN yet") for text in ("what should i do with IN", "should i hold IN?", "/plan IN")),
    *(
        (text, POSITION)
        for text in (
            "how much profit did IN make",
            "how long has OUT been out of range",
            "show me OUT",
            "how much liquidity is in IN",
            "is IN in range?",
            "what is the range of IN",
            "fees of IN",
            "how is IN doing",
            "what is OUT worth",
            "is OUT still out of range?",
            "inspect IN",
            "what's the price range on #OUT",
            "tell me about IN",
            "/positions",
            "positions",
            "what positions do i have",
            "which positions are out of range",
            "how are my positions",
            "list my positions",
            "what am i lping in",
            "how far is IN from the edge",
            "IN",
            "what is the hook of IN",
            "is the pool of IN healthy",
            "odds for IN to stay in range",
        )
    ),
    *(
        (text, EARNED)
        for text in (
            "what did i earn today",
            "how much did i make this week",
            "fees this month",
            "earnings",
            "how much have I earned",
            "any fees to collect?",
            "what do i have to collect",
            "how much is in my wallet",
            "portfolio",
            "what is my portfolio worth",
            "price of eth",
        )
    ),
    *(
        (text, r"alert|[Nn]othing|monitor")
        for text in (
            "any alerts?",
            "/alerts",
            "what needs my attention",
            "is everything ok?",
        )
    ),
    ("gas?", "gwei"),
    ("which pools pay best", "pool|Pool|risk"),
    ("what is my delta", r"\$|worth"),
    ("what if eth drops 10%", r"10%|ETH"),
)


def test_sixty_questions_are_answered_of_what_is_held(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with desk_at(devnet, tmp_path, capsys) as desk:
        outside, inside = desk.token_id("above its range"), desk.token_id("healthy")
        desk.recommended("above its range")
        home = desk.command.home
        flags = Flags(network="devnet", rpc=devnet.url, address=devnet.wallet)
        loaded = load_settings(home / "settings.toml", {}, flags)
        session = Session(Home.locate({}, home), loaded, loaded.chosen_network(), as_json=False)
        missed = []
        for text, expected in QUESTIONS:
            asked, told = (
                words.replace("OUT", str(outside)).replace("IN", str(inside))
                for words in (text, expected)
            )
            reply = asyncio.run(chat_answer(session, asked)).text
            if re.search(told, reply) is None:
                missed.append((asked, reply[:160]))
    printed(f"{len(QUESTIONS)} questions of an LP, {len(missed)} not answered of what is held")
    # A question that is not understood is answered by another question, never by another figure.
    assert len(missed) <= LEFT, "\n".join(map(str, missed))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "backtest /usr/lib/../../etc/passwd 1",
            "backtest /proc/1/../self/environ eth",
            "hedge 27",
        ),
        *("protect 27", "trade watch eth", "doctor eth", "trade eth", "mute all for 30 days"),
        *("/mute 3 2h", "order cancel 3", "order cancel #3", "recommend 27 now", "export 27"),
    ],
)
def test_a_chat_reads_no_file_and_begins_nothing(tmp_path: Path, text: str) -> None:
    loaded = load_settings(tmp_path / "settings.toml", {}, Flags(network="devnet"))
    session = Session(Home.locate({}, tmp_path), loaded, loaded.chosen_network(), as_json=False)
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    reply = asyncio.run(chat_answer(session, text)).text

    assert reply
    assert "root:" not in reply
    assert "Unexpected" not in reply
    made = {path.name for path in tmp_path.rglob("*") if path.is_file()} - {p.name for p in before}
    assert made <= {"zuno.db", "zuno.db-wal", "zuno.db-shm", "alerts.json"}
