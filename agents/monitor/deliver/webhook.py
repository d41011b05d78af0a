"""Alerts to any server: one JSON POST for each event, signed where a secret is set."""

import hashlib
import hmac
import json
from collections.abc import Sequence

from agents.monitor.alerts.alert import AlertEvent, event_document
from agents.monitor.deliver import channel
from agents.monitor.deliver.pace import EVERYTHING, Pace
from chain.base.clean_text import SecretStruct
from chain.base.http import HttpClient, HttpError, HttpLimits

SIGNATURE_HEADER = "x-zuno-signature"
EVENT_HEADER = "x-zuno-event"

# What a client error says for good; these say it for now.
_LATER = frozenset((408, 425, 429))


class WebhookSettings(SecretStruct, frozen=True):
    url: str
    secret: str | None = None
    pace: Pace = EVERYTHING


class Webhook:
    name = "webhook"
    pause_seconds = 0.0

    def __init__(
        self, settings: WebhookSettings, limits: HttpLimits = channel.DELIVERY_LIMITS
    ) -> None:
        self._url = settings.url
        self._limits = limits
        self._http = HttpClient(settings.url)
        self._secret = settings.secret
        self.pace = settings.pace
        self.fingerprint = channel.fingerprint(settings.url, settings.secret or "")

    def wants(self, event: AlertEvent) -> bool:
        return channel.is_news(event)

    def letter(self, events: Sequence[AlertEvent]) -> channel.Notification:
        """Events go one by one: a program needs no digest, and answers for each."""
        event = events[0]
        document = {"id": channel.event_id(event), **event_document(event)}
        return channel.Notification(json.dumps(document, allow_nan=False).encode(), (event,))

    def notice(self, text: str) -> channel.Notification:
        return channel.Notification(
            json.dumps({"id": None, "happened": "trouble", "text": text}).encode(), ()
        )

    async def send(self, letter: channel.Notification, *, now: float) -> channel.Outcome:
        headers = {EVENT_HEADER: channel.event_id(letter.events[0])} if letter.events else {}
        if self._secret is not None:
            headers[SIGNATURE_HEADER] = signature(self._secret, letter.body)
        try:
            posted = await self._http.post(self._url, letter.body, self._limits, headers)
        except HttpError as error:
            return channel.Delayed(f"it {error}")
        if 200 <= posted.status < 300:
            return channel.Delivered()
        reason = f"HTTP {posted.status}"
        if posted.status in _LATER or posted.status >= 500:
            return channel.Delayed(reason, posted.wait(now), answered=posted.status >= 500)
        if 300 <= posted.status < 400:
            return channel.ChannelRefused(
                f"{reason}, it points elsewhere. Set [webhook] url to where that is."
            )
        return channel.ChannelRefused(f"{reason}. Check [webhook] url and secret in the settings.")

    async def close(self) -> None:
        await self._http.close()


def signature(secret: str, body: bytes) -> str:
    """What a receiver computes over the body's bytes to know that we sent them."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
