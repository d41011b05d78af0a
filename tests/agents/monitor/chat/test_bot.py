"""The bot against a Telegram of our own: each question once, in its chat, through every trouble."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from agents.monitor.deliver.channel import DELIVERY_LIMITS
from agents.monitor.deliver.telegram import (
    MOST_CHARACTERS,
    MOST_UNITS,
    BotConnection,
    ChatBot,
    ChatQuestion,
    ChatReply,
    read_updates,
    shorten_text,
    text_units,
)
from tests.fakes.telegram import CHAT, TOKEN, Conduct, TelegramDouble

NOW = 1_790_000_000.0


@dataclass
class Kept:
    """Offsets that outlive a bot."""

    offset: int = 0
    kept: list[int] = field(default_factory=list)

    def read(self) -> int:
        return self.offset

    def keep(self, offset: int) -> None:
        self.offset = offset
        self.kept.append(offset)


@dataclass
class Chat:
    telegram: TelegramDouble
    bot: ChatBot
    asked: list[str]
    slept: list[float]


@asynccontextmanager
async def chatting(
    telegram: TelegramDouble | None = None,
    kept: Kept | None = None,
    reply: ChatReply | None = None,
) -> AsyncIterator[Chat]:
    telegram = telegram or TelegramDouble(lambda: NOW)
    asked: list[str] = []
    slept: list[float] = []

    async def answer(question: ChatQuestion) -> ChatReply:
        asked.append(question.text)
        return reply or ChatReply(f"heard {question.text}")

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async with telegram.running() as url:
        connection = BotConnection(TOKEN, url, DELIVERY_LIMITS)
        bot = ChatBot(
            connection,
            frozenset((CHAT,)),
            answer,
            kept or Kept(),
            clock=lambda: NOW,
            sleep=sleep,
        )
        try:
            yield Chat(telegram, bot, asked, slept)
        finally:
            await connection.close()


async def test_a_question_is_answered_once_in_its_chat_and_not_again_after_a_restart() -> None:
    kept = Kept()
    telegram = TelegramDouble(lambda: NOW)
    telegram.write("/status")
    async with chatting(telegram, kept) as chat:
        assert (await chat.bot.look(seconds=0)).answered == 1
        assert (await chat.bot.look(seconds=0)).answered == 0
    telegram.write("and now?")
    async with chatting(telegram, kept) as again:
        await again.bot.look(seconds=0)
        assert again.asked == ["and now?"]
    assert [(one.body["chat_id"], one.text) for one in telegram.heard] == [
        (CHAT, "heard /status"),
        (CHAT, "heard and now?"),
    ]
    assert telegram.looked[-1].body["allowed_updates"] == ["message"]


async def test_strangers_and_old_questions_get_no_answer_and_are_not_asked_for_again() -> None:
    async with chatting() as chat:
        chat.telegram.write("/positions", chat=666)
        chat.telegram.write("/status", date=int(NOW) - 3600)
        step = await chat.bot.look(seconds=0)
        assert (step.answered, step.strangers, step.too_old) == (0, 1, 1)
        assert (chat.asked, chat.telegram.heard) == ([], [])
        assert (await chat.bot.look(seconds=0)).strangers == 0


async def test_trouble_is_waited_out_as_long_as_was_asked_for() -> None:
    conducts = iter([Conduct.BUSY, Conduct.CONFLICT, Conduct.BROKEN, Conduct.HANGS_UP])
    async with chatting() as chat:
        chat.telegram.look_conduct = lambda: next(conducts, Conduct.TAKES)
        chat.telegram.write("/why")
        steps = [await chat.bot.look(seconds=0) for _ in range(5)]
        assert [bool(step.trouble) for step in steps] == [True] * 4 + [False]
        assert steps[0].wait_seconds == chat.telegram.retry_after
        waits = [step.wait_seconds for step in steps[1:4]]
        assert waits == sorted(waits)
        assert not any(step.refused for step in steps)
        assert all(TOKEN not in step.trouble for step in steps)
        assert chat.asked == ["/why"]


async def test_an_unknown_token_is_a_person_s_to_mend() -> None:
    async with chatting() as chat:
        chat.telegram.look_conduct = lambda: Conduct.UNAUTHORISED
        assert (await chat.bot.look(seconds=0)).refused


async def test_a_busy_chat_gets_its_answer_later_and_a_blocked_one_holds_nobody_up() -> None:
    conducts = iter([Conduct.BUSY, Conduct.BROKEN, Conduct.TAKES, Conduct.BLOCKED])
    async with chatting() as chat:
        chat.telegram.conduct = lambda: next(conducts)
        chat.telegram.write("/why")
        chat.telegram.write("/status")
        assert (await chat.bot.look(seconds=0)).answered == 2
        assert chat.slept[0] == chat.telegram.retry_after
        assert [one.conduct for one in chat.telegram.heard][2:] == [Conduct.TAKES, Conduct.BLOCKED]


async def test_a_question_whose_answer_could_not_be_sent_is_asked_for_again() -> None:
    kept = Kept()
    async with chatting(kept=kept) as chat:
        chat.telegram.conduct = lambda: Conduct.BROKEN
        chat.telegram.write("/why")
        assert (await chat.bot.look(seconds=0)).trouble
        assert kept.kept == []
        chat.telegram.conduct = lambda: Conduct.TAKES
        assert (await chat.bot.look(seconds=0)).answered == 1


async def test_a_picture_goes_with_its_words() -> None:
    png = b"\x89PNG\r\n\x1a\n--zuno" + bytes(range(256))
    async with chatting(reply=ChatReply("a line\n" + "x" * 2000, png)) as chat:
        chat.telegram.write("/report")
        await chat.bot.look(seconds=0)
        photo, words = chat.telegram.heard
        assert (photo.method, photo.photo, photo.text) == ("sendPhoto", png, "a line")
        assert words.method == "sendMessage"
        assert len(words.text) > 2000


def test_updates_of_any_shape_are_read_once_each() -> None:
    good = {"update_id": 9, "message": {"chat": {"id": 1}, "date": 5, "text": "\x1b[2J hi\u202e"}}
    odd: list[object] = [
        None,
        {"update_id": "8"},
        {"update_id": 7, "message": {"chat": [], "text": "x"}},
        {"update_id": True},
        {"update_id": 11, "message": {"chat": {"id": 1}, "date": 5, "photo": []}},
        good,
        good,
        {"update_id": 3, "message": {"chat": {"id": 1}, "date": 5, "text": "before"}},
    ]
    batch = read_updates(odd, 5)
    assert [question.update_id for question in batch.questions] == [9]
    assert batch.questions[0].text.isprintable()
    assert batch.next_offset == 12
    assert read_updates("no list", 5).next_offset == 5
    long = {"update_id": 1, "message": {"chat": {"id": 1}, "date": 5, "text": "x" * 5000}}
    assert len(read_updates([long], 0).questions[0].text) <= MOST_CHARACTERS + 1


def test_what_is_too_long_for_a_message_is_cut_at_a_line() -> None:
    text = "\n".join(f"line {number} 😀" for number in range(900))
    cut = shorten_text(text, MOST_UNITS)
    assert text_units(cut) <= MOST_UNITS
    assert text.startswith(cut.rpartition("\n")[0])
    assert text_units(shorten_text("😀" * 5000, MOST_UNITS)) <= MOST_UNITS
    # One line that is too long is cut inside, and something of it is told.
    assert shorten_text("x" * 5000, 100).startswith("x" * 40)
