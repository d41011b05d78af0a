"""The window's server: loopback alone, behind a token that is good once, one viewer at a time.

What it shows is a process of its own that only looks (`zuno look`), with no secret in its
environment. A page elsewhere that finds the port has neither the cookie nor the right origin.
"""

from __future__ import annotations

import hmac
import os
import secrets
import shlex
import sys
from argparse import Namespace
from base64 import b64encode
from collections.abc import Awaitable, Callable
from functools import cache
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chain.base.own_program import own_program
from chain.base.secret_names import without_secrets
from zuno_tui.present.exit_codes import DONE, FAILED, USAGE

if TYPE_CHECKING:
    from aiohttp import web

_HOST = "127.0.0.1"
_COOKIE = "zuno_window"
_PAGES = Path(__file__).parent
_POLICY = (
    "default-src 'none'; script-src 'self' 'sha256-{script}'; style-src 'self' 'unsafe-inline'; "
    "font-src 'self'; img-src 'self' data:; connect-src 'self' ws://{place}; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_NO = "This window is for whoever opened it. Open the address that zuno serve printed."
_TAKEN = "Somebody looks already: one viewer at a time."


def serve(arguments: Namespace) -> int:
    try:
        import textual_serve.server  # noqa: F401
    except ImportError:
        sys.stderr.write("zuno serve needs its extra: pip install 'zuno-tui[serve]'\n")
        return USAGE
    door = Doorkeeper(arguments.port, lambda: secrets.token_urlsafe(24))
    kept = without_secrets(os.environ, for_models=False)
    for name in os.environ.keys() - kept.keys():
        del os.environ[name]
    try:
        run_window(door, looking_command(arguments))
    except OSError as error:
        sys.stderr.write(
            f"Port {arguments.port} cannot be used: {error.strerror}. Another: --port N\n"
        )
        return FAILED
    return DONE


def looking_command(arguments: Namespace) -> str:
    """The process behind the window, as a shell takes it."""
    words = own_program("zuno_tui", "look")
    for name in ("network", "rpc", "address", "unit", "home", "theme"):
        value = getattr(arguments, name, None)
        if value is not None:
            words += [f"--{name}", str(value)]
    return f"exec {shlex.join(words)}"


class Doorkeeper:
    """Who may come in: the first with the token gets a cookie, and only it counts from then on."""

    def __init__(self, port: int, new_secret: Callable[[], str]) -> None:
        self.port, self.place = port, f"{_HOST}:{port}"
        self.token = new_secret()
        self.path = f"/{new_secret()}"
        """Everything is below it: a browser sends cookies to every port of a host, and this path
        keeps ours from whoever listens at another one."""
        self._cookie = new_secret()
        self._used = False
        self.looking = False

    @property
    def address(self) -> str:
        return f"http://{self.place}/?token={self.token}"

    def cookie_for(self, token: str) -> str | None:
        """Once; None for a token that is wrong or used up."""
        if self._used or not hmac.compare_digest(token.encode(), self.token.encode()):
            return None
        self._used = True
        return self._cookie

    def refusal(self, host: str | None, origin: str | None, cookie: str, *, talks: bool) -> str:
        """Why not, in words; empty for who may come in."""
        own = f"http://{self.place}"
        if host != self.place or (origin is not None and origin != own):
            return _NO
        # A browser names the page that opens a socket; who does not name it is no browser of ours.
        if talks and origin != own:
            return _NO
        return "" if hmac.compare_digest(cookie.encode(), self._cookie.encode()) else _NO


def run_window(door: Doorkeeper, command: str) -> None:
    """Until it is told to end; the address is said once somebody listens there."""
    from aiohttp import web
    from textual_serve.server import Server

    class LookingServer(Server):
        async def make_app(self) -> web.Application:
            app = web.Application(middlewares=[guard])
            app.add_subapp(door.path, await self._make_app())
            return app

        async def on_startup(self, app: web.Application) -> None:
            """Its banner is for developers."""

        async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
            if door.looking:
                raise web.HTTPConflict(text=_TAKEN)
            door.looking = True
            try:
                return await super().handle_websocket(request)
            finally:
                door.looking = False

    @web.middleware
    async def guard(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        told = request.headers
        if (token := request.query.get("token")) is not None and request.path == "/":
            return _entered(door, token, told.get("host"))
        refusal = door.refusal(
            told.get("host"),
            told.get("origin"),
            request.cookies.get(_COOKIE, ""),
            talks=request.path == f"{door.path}/ws",
        )
        if refusal or request.method != "GET":
            raise web.HTTPForbidden(text=refusal or _NO)
        answer = await handler(request)
        if not answer.prepared:
            answer.headers.update(_headers(door))
        return answer

    def say(_: str) -> None:
        sys.stdout.write(
            f"Open it in a browser on this machine, once: {door.address}\n"
            "It looks alone: nobody can act there. Ctrl+C closes it.\n"
        )
        sys.stdout.flush()

    own = f"http://{door.place}"
    server = LookingServer(
        command, host=_HOST, port=door.port, title="zuno", public_url=own, templates_path=_PAGES
    )
    web.run_app(server.make_app(), host=_HOST, port=door.port, print=say, access_log=None)


def _entered(door: Doorkeeper, token: str, host: str | None) -> web.Response:
    from aiohttp import web

    cookie = door.cookie_for(token) if host == door.place else None
    if cookie is None:
        raise web.HTTPForbidden(text=_NO)
    # The token leaves the address line, so no history or referrer keeps it.
    headers = {"location": f"{door.path}/", **_headers(door)}
    answer = web.Response(status=HTTPStatus.SEE_OTHER, headers=headers)
    answer.set_cookie(_COOKIE, cookie, httponly=True, samesite="Strict", path=f"{door.path}/")
    return answer


@cache
def _script_hash() -> str:
    """The one script that stands in the page itself, by what it says."""
    page = (_PAGES / "app_index.html").read_text("utf-8")
    said = page.partition("<script>")[2].partition("</script>")[0]
    return b64encode(sha256(said.encode()).digest()).decode()


def _headers(door: Doorkeeper) -> dict[str, Any]:
    return {
        "content-security-policy": _POLICY.format(place=door.place, script=_script_hash()),
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }
