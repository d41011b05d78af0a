"""`zuno market pause`: the clock of the embedded chain's market, turned from the command line."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from chain.base.clean_text import clean_text, without_own_marks
from chain.base.errors import Failure, ZunoError
from chain.base.http import HttpClient, HttpError, HttpLimits
from chain.devnet.defaults import control_door
from chain.execution.outbox.approvals import ActKind
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.outbox import Outbox
from zuno_tui.app.session import Session
from zuno_tui.intents.intents import MarketAction
from zuno_tui.intents.phrase_error import PhraseError
from zuno_tui.present.answer import CommandAnswer

_STEP_SECONDS = 600
_SPEEDS = (1.0, 10.0, 60.0, 300.0, 1200.0)
_LIMITS = HttpLimits(connect_seconds=2.0, answer_seconds=30.0, most_bytes=1 << 16)


class MarketClockError(ZunoError):
    """The market's control did not answer, or not in a way that can be used."""

    failure = Failure.NETWORK


class MarketTrading(Struct, frozen=True):
    speed: float
    phase: str
    time: int = 0
    held: bool = False
    """At most real time, while an approval is open."""

    @property
    def words(self) -> str:
        if not self.speed:
            return "market paused"
        if self.held:
            return f"market ×{self.speed:g} to sign"
        return f"market ×{self.speed:g}"


class MarketClock:
    """The control of the chain at one URL."""

    def __init__(self, chain_url: str) -> None:
        self._url = control_door(chain_url)
        self._http = HttpClient(self._url)

    async def close(self) -> None:
        await self._http.close()

    async def status(self) -> MarketTrading:
        return await self._ask("zuno_status")

    async def turn(self, action: MarketAction) -> MarketTrading:
        match action:
            case "pause":
                return await self._ask("zuno_pause")
            case "resume":
                return await self._ask("zuno_resume")
            case "step":
                return await self._ask("zuno_step", _STEP_SECONDS)
            case "faster" | "slower":
                now = await self.status()
                return await self._ask("zuno_setSpeed", next_speed(now.speed, action))

    async def hold(self, reason: str, until: int) -> MarketTrading:
        """Real time at most, until this time of the chain's or until somebody lets go."""
        return await self._ask("zuno_hold", reason, until)

    async def let_go(self, reason: str) -> MarketTrading:
        return await self._ask("zuno_letGo", reason)

    async def positions(self) -> Mapping[str, int]:
        """The demo wallet's, by the state each is in."""
        match await self._answer("zuno_status"):
            case {"result": {"positions": dict() as found}}:
                return {str(state): int(token_id) for state, token_id in found.items()}
        raise MarketClockError("The control of the demo's market did not answer as it should.")

    async def _ask(self, method: str, *params: object) -> MarketTrading:
        return _trading(await self._answer(method, *params))

    async def _answer(self, method: str, *params: object) -> object:
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        try:
            answer = await self._http.post(self._url, body, _LIMITS)
            return msgspec.json.decode(answer.body)
        except HttpError as error:
            raise MarketClockError(f"The control of the demo's market {error}.") from None
        except msgspec.DecodeError:
            raise MarketClockError("The control of the demo's market did not answer.") from None


def next_speed(speed: float, towards: str) -> float:
    """The next of a few speeds, the last of them again at either end."""
    if towards == "faster":
        return next((faster for faster in _SPEEDS if faster > speed), _SPEEDS[-1])
    return next((slower for slower in reversed(_SPEEDS) if slower < speed), _SPEEDS[0])


def open_approvals(journal: Path) -> Mapping[str, int]:
    """Approvals that nobody has used, by their hash, with the chain's time at which they end."""
    if not journal.exists():
        return {}
    try:
        with Outbox.open(journal) as outbox:
            return {
                given.hash: int(given.expires_at)
                for given in outbox.unused_approvals()
                if given.kind in (ActKind.ORDER, ActKind.SAFE)
                or (given.kind is ActKind.PLAN and outbox.dispatch(given.hash).ended is None)
            }
    except OutboxError:
        return {}  # whoever applies says what is wrong with the journal


async def hold_for_approvals(session: Session) -> None:
    """Give the open approvals their ten minutes, where a market could run them down in seconds."""
    if session.network.clock != "head":
        return
    # A chain that somebody else started may have no market.
    with suppress(MarketClockError):
        async with _clock_of(session) as clock:
            for approval, until in open_approvals(session.home.outbox).items():
                await clock.hold(approval, until)


async def let_go_of_approval(session: Session, approval: str) -> None:
    """Let the market run on once an approval is used."""
    if session.network.clock == "head":
        with suppress(MarketClockError):
            async with _clock_of(session) as clock:
                await clock.let_go(approval)


@asynccontextmanager
async def _clock_of(session: Session) -> AsyncIterator[MarketClock]:
    clock = MarketClock(session.endpoints[0])
    try:
        yield clock
    finally:
        await clock.close()


def _trading(value: object) -> MarketTrading:
    match value:
        case {
            "result": {
                "speed": int() | float() as speed,
                "phase": str(phase),
                "time": int(time),
                "held": bool(held),
            }
        }:
            words = without_own_marks(clean_text(phase, limit=24))
            return MarketTrading(float(speed), words, time, held)
        case {"error": {"message": str(words)}}:
            raise MarketClockError(
                f"The control of the demo's market refused: {clean_text(words, limit=120)}"
            )
    raise MarketClockError("The control of the demo's market did not answer as it should.")


async def market_turned(session: Session, action: MarketAction) -> CommandAnswer:
    if session.network.clock != "head":
        raise PhraseError(
            f"{session.network.title} runs in real time: only the demo's market can be paused. "
            "Start it: zuno demo",
            "",
        )
    async with _clock_of(session) as clock:
        trading = await clock.turn(action)
    return CommandAnswer(
        lines=(f"{trading.words.capitalize()}.",),
        document={"network": session.network.name, "speed": trading.speed, "phase": trading.phase},
    )
