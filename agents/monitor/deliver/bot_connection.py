"""Telegram's Bot API with one token: what is asked of it, and how that can end."""

from __future__ import annotations

import json

from agents.monitor.deliver.channel import ChannelRefused, Delayed, Delivered, Outcome
from chain.base.clean_text import clean_text, quoted, without_own_marks
from chain.base.http import HttpAnswer, HttpClient, HttpError, HttpLimits
from chain.base.redaction import Redactor
from chain.base.strict_json import InvalidJsonError, loads

_OK = 200
_CONFLICT = 409
_BUSY = 429
_ADVICE = {
    400: "Check the chat: [telegram] chat in the settings, and write to the bot once yourself.",
    401: "Telegram does not know this token. Ask @BotFather for it: [telegram] token.",
    403: "The bot may not write there. Unblock it, or add it to the group.",
    404: "Telegram does not know this token. Ask @BotFather for it: [telegram] token.",
}
_BOUNDARY = "zuno-5c1f7a0e94d24b6b"


class BotConnection:
    def __init__(self, token: str, url: str, limits: HttpLimits) -> None:
        base = url.rstrip("/")
        # The token is who the bot is: no repr, log, error or record may show it.
        self._urls = f"{base}/bot{token}/"
        self._limits = limits
        self._http = HttpClient(base)
        self._redactor = Redactor([token])

    async def send(
        self, method: str, body: bytes, *, now: float, kind: str = "application/json"
    ) -> Outcome:
        """What became of something that was to be taken."""
        outcome, _ = await self.ask(method, body, self._limits, now=now, kind=kind)
        return outcome

    async def ask(
        self,
        method: str,
        body: bytes,
        limits: HttpLimits,
        *,
        now: float,
        kind: str = "application/json",
    ) -> tuple[Outcome, object]:
        """How it ended, and the result where it was answered."""
        try:
            posted = await self._http.post(
                f"{self._urls}{method}", body, limits, {"content-type": kind}
            )
        except HttpError as error:
            return Delayed(f"it {error}"), None
        answer = _answer(posted.body)
        return self._outcome(posted, answer, now), answer.get("result")

    async def close(self) -> None:
        await self._http.close()

    def _outcome(self, posted: HttpAnswer, answer: dict[str, object], now: float) -> Outcome:
        if posted.status == _OK:
            if answer.get("ok") is True:
                return Delivered()
            return Delayed("something that is not Telegram answered")
        # Redacted after cleaning, which may join a token's pieces, and before the cut.
        words = without_own_marks(clean_text(str(answer.get("description", ""))))
        said = quoted(self._redactor.text(words))
        reason = f"HTTP {posted.status}, {said or 'no reason given'}"
        if posted.status in (_BUSY, _CONFLICT):
            return Delayed(reason, _retry_after(answer) or posted.wait(now))
        if 400 <= posted.status < 500:
            return ChannelRefused(f"{reason}. {_ADVICE.get(posted.status, 'Check [telegram].')}")
        if 300 <= posted.status < 400:
            return ChannelRefused(
                f"{reason}. It points elsewhere: set [telegram] url to where that is."
            )
        return Delayed(reason, answered=True)


def message_body(chat: str, text: str) -> bytes:
    """Plain text: no markup, and no preview of anything in it."""
    preview = {"is_disabled": True}
    return json.dumps({"chat_id": chat, "text": text, "link_preview_options": preview}).encode()


def photo_body(chat: str, caption: str, png: bytes) -> tuple[bytes, str]:
    """A picture with words under it, and the content type it is sent as."""
    fields = "".join(
        f"--{_BOUNDARY}\r\n"
        f'Content-Disposition: form-data; name="{name}"\r\n'
        "Content-Type: text/plain; charset=utf-8\r\n\r\n"
        f"{value}\r\n"
        for name, value in (("chat_id", chat), ("caption", caption))
    )
    head = (
        f"--{_BOUNDARY}\r\n"
        'Content-Disposition: form-data; name="photo"; filename="chart.png"\r\n'
        "Content-Type: image/png\r\n\r\n"
    )
    body = fields.encode() + head.encode() + png + f"\r\n--{_BOUNDARY}--\r\n".encode()
    return body, f"multipart/form-data; boundary={_BOUNDARY}"


def _answer(body: bytes) -> dict[str, object]:
    try:
        answer = loads(body)
    except InvalidJsonError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _retry_after(answer: dict[str, object]) -> float | None:
    parameters = answer.get("parameters")
    asked = parameters.get("retry_after") if isinstance(parameters, dict) else None
    if isinstance(asked, bool) or not isinstance(asked, int | float):
        return None
    return float(asked)
