"""What a model's server can do, found out by asking it and remembered for a while."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from chain.base.store import StoreError
from chain.base.strict_json import canonical, digest

if TYPE_CHECKING:
    from agents.model.faults import RequestRefusal
    from agents.model.interface import ModelSettings

T = TypeVar("T")
NAMESPACE = "model_abilities"
REMEMBERED_SECONDS = 7 * 86_400.0
"""A server is updated now and then: after a week it is asked anew what it can do."""
SHORT_ANSWER = 1_200
"""Tokens that any reply fits in, for a server whose context has no room for more."""


class ReplyForm(StrEnum):
    """How a reply's form is asked for, the surest first."""

    SCHEMA = "schema"
    """The server holds the model to the schema."""
    JSON = "json"
    """The server holds it to JSON; the schema stands in the prompt."""
    TEXT = "text"
    """The schema stands in the prompt, and the JSON is looked for in the text."""


class FormBesideTools(StrEnum):
    """Whether a server calls tools while it holds the reply to a form.

    Some refuse both at once. Some take both, and call nothing any more: whoever called nothing is
    asked the next time with tools alone, which tells a model without questions from such a server.
    """

    UNTRIED = "untried"
    UNSEEN = "unseen"
    """It took both and called nothing."""
    YES = "yes"
    NO = "no"

    @property
    def asks_form(self) -> bool:
        """Whether the next question with tools asks for a form as well."""
        return self in (FormBesideTools.UNTRIED, FormBesideTools.YES)

    def after(self, *, called: bool) -> FormBesideTools:
        """What a reply to a question with tools tells of it."""
        if self is FormBesideTools.UNTRIED:
            return FormBesideTools.YES if called else FormBesideTools.UNSEEN
        if self is FormBesideTools.UNSEEN:
            return FormBesideTools.NO if called else FormBesideTools.YES
        return self


_BOTH = frozenset(("tools", "response_format"))
LimitName = Literal["max_tokens", "max_completion_tokens", ""]


class ServerAbilities(Struct, frozen=True):
    """For one model on one server."""

    form: ReplyForm = ReplyForm.SCHEMA
    streams: bool = True
    counts_stream: bool = True
    """Whether `stream_options` may ask for the count of tokens."""
    takes_temperature: bool = True
    takes_system: bool = True
    """Whether there may be a message of the role `system`."""
    limit_name: LimitName = "max_tokens"
    """What the limit of a reply is called; empty where none may be named."""
    most_tokens: int | None = None
    """The largest limit it takes, where it refused ours."""
    thinks: bool = False
    """Whether it was seen to think before it answers."""
    calls_tools: bool = True
    """Whether it may be offered tools."""
    form_beside_tools: FormBesideTools = FormBesideTools.UNTRIED
    form_tried: bool = False
    """Whether a reply came in this form."""


def first_guess(settings: ModelSettings) -> ServerAbilities:
    # OpenAI refuses the old name of the limit for its newer models; most other servers do not
    # know the new one.
    ours = urlsplit(settings.base_url).hostname == "api.openai.com"
    return ServerAbilities(
        limit_name="max_completion_tokens" if ours else "max_tokens",
        form_beside_tools=FormBesideTools.YES if ours else FormBesideTools.UNTRIED,
    )


def without_refused(
    able: ServerAbilities,
    refusal: RequestRefusal,
    *,
    has_temperature: bool,
    asked_tokens: int,
    has_tools: bool = False,
) -> ServerAbilities | None:
    """What to try after a refusal; None where nothing is left to leave out."""
    if refusal.overflow:
        return _shorter(able, asked_tokens, max(SHORT_ANSWER, asked_tokens // 2))
    if refusal.most_tokens is not None and able.limit_name in refusal.named:
        return _shorter(able, asked_tokens, refusal.most_tokens)
    unnamed = refusal.vague and not refusal.named
    if has_tools and able.form_beside_tools.asks_form and (_BOTH & refusal.named or unnamed):
        return replace(able, form_beside_tools=FormBesideTools.NO)
    steps: list[tuple[str, ServerAbilities | None]] = [
        ("tools", replace(able, calls_tools=False) if has_tools and able.calls_tools else None),
        (
            "stream_options",
            replace(able, counts_stream=False) if able.streams and able.counts_stream else None,
        ),
        (
            "temperature",
            replace(able, takes_temperature=False)
            if has_temperature and able.takes_temperature
            else None,
        ),
        ("system", replace(able, takes_system=False) if able.takes_system else None),
        (able.limit_name, _other_limit(able)),
        ("response_format", _looser(able)),
        ("stream", replace(able, streams=False) if able.streams else None),
    ]
    for name, step in steps:
        if name in refusal.named and step is not None:
            return step
    if not refusal.vague:
        return None
    by_name = dict(steps)
    order = (
        *("tools", "response_format", "temperature", "stream_options"),
        *(able.limit_name, "stream"),
    )
    return next((step for name in order if (step := by_name[name]) is not None), None)


def _looser(able: ServerAbilities) -> ServerAbilities | None:
    match able.form:
        case ReplyForm.SCHEMA:
            return replace(able, form=ReplyForm.JSON)
        case ReplyForm.JSON:
            return replace(able, form=ReplyForm.TEXT)
        case ReplyForm.TEXT:
            return None


def _other_limit(able: ServerAbilities) -> ServerAbilities | None:
    """First the newer name, which some demand; then none."""
    match able.limit_name:
        case "max_tokens":
            return replace(able, limit_name="max_completion_tokens")
        case "max_completion_tokens":
            return replace(able, limit_name="")
        case _:
            return None


def _shorter(able: ServerAbilities, asked_tokens: int, most: int) -> ServerAbilities | None:
    return replace(able, most_tokens=most) if most < asked_tokens else None


class AbilityStore(Protocol):
    """What keeps abilities between runs; `chain.base.store.Store` is one."""

    def read(self, kind: type[T], namespace: str, key: str) -> T | None: ...

    def written_at(self, namespace: str, key: str) -> float | None: ...

    def put(self, namespace: str, key: str, value: object, *, now: float) -> None: ...

    def forget_key(self, namespace: str, key: str) -> bool: ...


class AbilityMemory:
    """What was found out of each server and model, with its age."""

    def __init__(self, store: AbilityStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock

    def recall(self, settings: ModelSettings) -> ServerAbilities | None:
        age = self.age(settings)
        if age is None or not 0 <= age < REMEMBERED_SECONDS:
            return None
        return self._store.read(ServerAbilities, NAMESPACE, _key(settings))

    def age(self, settings: ModelSettings) -> float | None:
        """Seconds since it was found out; None where nothing is remembered."""
        written = self._store.written_at(NAMESPACE, _key(settings))
        return None if written is None else self._clock() - written

    def remember(self, settings: ModelSettings, able: ServerAbilities) -> None:
        # What cannot be kept is found out again by the next debate.
        with suppress(StoreError):
            self._store.put(NAMESPACE, _key(settings), to_builtins(able), now=self._clock())

    def forget(self, settings: ModelSettings) -> None:
        self._store.forget_key(NAMESPACE, _key(settings))


def _key(settings: ModelSettings) -> str:
    # A hash, since a URL may hold a key.
    return digest(canonical([settings.base_url, settings.model]))
