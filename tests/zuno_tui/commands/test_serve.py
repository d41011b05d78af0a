"""The window in a browser: whose it is, who else gets nothing, and what a real browser shows."""

import base64
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from chain.devnet.launch import DevnetReady
from tests.agents.mesh.processes import free_ports
from tests.waiting import HUNG_SECONDS, wait_until

pytest.importorskip("textual_serve", reason="the extra serve is not installed")
pytestmark = pytest.mark.real_time

MAIN = "import sys; from zuno_tui.cli import main; sys.exit(main())"
FOREIGN = "http://evil.example"
UPGRADE = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": base64.b64encode(bytes(16)).decode(),
}


class Served:
    """A window that is open, and the requests that anybody may send to its port."""

    def __init__(self, address: str) -> None:
        self.address = address
        parts = urlsplit(address)
        assert parts.port is not None
        self.port, self.place = parts.port, parts.netloc

    def get(self, path: str, **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HUNG_SECONDS)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.putrequest("GET", path, skip_host=True)
        for name, value in {"host": self.place, **named}.items():
            connection.putheader(name, value)
        connection.endheaders()
        return connection.getresponse()


@pytest.fixture
def served(devnet: DevnetReady, tmp_path: Path) -> Iterator[Served]:
    [port] = free_ports(1)
    words = (
        *("--home", str(tmp_path), "--network", "devnet", "--rpc", devnet.url),
        *("--address", devnet.wallet, "--port", str(port)),
    )
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, "serve", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={
            **os.environ,
            "OPENAI_API_KEY": "kept-from-the-window",
            "ZUNO_TELEGRAM_TOKEN": "4:kept-from-the-window",
            "ZUNO_COINGECKO_URL": f"{devnet.url}/prices",
        },
    ) as server:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found is not None
        yield Served(found.group())
        server.terminate()


def entered_by_token(served: Served) -> tuple[str, str]:
    """The cookie, and the path that it is for."""
    entered = served.get(f"/?{urlsplit(served.address).query}")
    path, cookie = entered.getheader("location") or "", entered.getheader("set-cookie") or ""
    assert entered.status == 303
    assert len(path) > 30, "so long that no other port of this host is sent the cookie"
    assert f"Path={path}" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    return cookie.partition(";")[0], path


def test_only_who_has_the_token_gets_in_and_only_once(served: Served) -> None:
    query = urlsplit(served.address).query
    strangers = {
        "no token": served.get("/"),
        "another token": served.get("/?token=other"),
        "another host": served.get(f"/?{query}", host="evil.example"),
        "a file": served.get("/static/js/textual.js"),
        "a socket": served.get("/ws", origin=f"http://{served.place}", **UPGRADE),
    }
    cookie, path = entered_by_token(served)
    inside = {
        "the page": served.get(path, cookie=cookie).status,
        "its own files": served.get(f"{path}static/js/textual.js", cookie=cookie).status,
        "the page without the cookie": served.get(path).status,
        "the token again": served.get(f"/?{query}").status,
        "a foreign page": served.get(path, cookie=cookie, origin=FOREIGN).status,
        "a name that leads here": served.get(path, cookie=cookie, host="localhost.evil").status,
        "a foreign socket": served.get(
            f"{path}ws", cookie=cookie, origin=FOREIGN, **UPGRADE
        ).status,
        "a socket of nobody": served.get(f"{path}ws", cookie=cookie, **UPGRADE).status,
    }
    page = served.get(path, cookie=cookie)

    assert {name: each.status for name, each in strangers.items()} == dict.fromkeys(strangers, 403)
    assert inside == {
        "the page": 200,
        "its own files": 200,
        "the page without the cookie": 403,
        "the token again": 403,
        "a foreign page": 403,
        "a name that leads here": 403,
        "a foreign socket": 403,
        "a socket of nobody": 403,
    }
    assert "default-src 'none'" in (page.getheader("content-security-policy") or "")
    assert b"//fonts." not in page.read(), "nothing is fetched from elsewhere"


def test_one_looks_at_a_time_and_what_it_runs_holds_no_secret(served: Served) -> None:
    (cookie, path), own = entered_by_token(served), f"http://{served.place}"
    first = served.get(f"{path}ws", cookie=cookie, origin=own, **UPGRADE)
    second = served.get(f"{path}ws", cookie=cookie, origin=own, **UPGRADE)

    assert (first.status, second.status) == (101, 409)
    wait_until(lambda: len(looking()) == 1, "the process behind the window")
    [pid] = looking()
    environment = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"kept-from-the-window" not in environment
    assert b"ZUNO_COINGECKO_URL=" in environment, "prices are read where one has chosen"


def looking() -> list[int]:
    """The processes that look for a window, by what they were started with."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[1:5] == [b"-P", b"-m", b"zuno_tui", b"look"]:
                found.append(int(folder.name))
    return found


class Browser:
    """A real Chromium, by its driver's own protocol."""

    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}"
        options = {"args": ["--headless=new", "--no-sandbox", "--window-size=1400,800"]}
        asked = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
        self._session = f"/session/{self._call('POST', '/session', asked)['sessionId']}"

    def open(self, address: str) -> None:
        self._call("POST", f"{self._session}/url", {"url": address})

    def press(self, keys: str) -> None:
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        acts = [{"type": "key", "id": "keys", "actions": strokes}]
        self._call("POST", f"{self._session}/actions", {"actions": acts})

    def run(self, script: str) -> Any:
        asked = {"script": script, "args": []}
        return self._call("POST", f"{self._session}/execute/sync", asked)

    def resize(self, width: int, height: int) -> None:
        self._call("POST", f"{self._session}/window/rect", {"width": width, "height": height})

    def picture(self) -> bytes:
        return base64.b64decode(self._call("GET", f"{self._session}/screenshot"))

    def close(self) -> None:
        self._call("DELETE", self._session)

    def _call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, method=method)
        with urllib.request.urlopen(request, timeout=HUNG_SECONDS) as answer:
            return json.loads(answer.read())["value"]


@pytest.fixture
def browser() -> Iterator[Browser]:
    driver = shutil.which("chromedriver")
    if driver is None:
        pytest.skip("no chromedriver: apt install chromium chromium-driver")
    [port] = free_ports(1)
    with subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL) as running:
        wait_until(lambda: answers(port), "chromedriver")
        opened = Browser(port)
        yield opened
        opened.close()
        running.terminate()


def answers(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=HUNG_SECONDS).close()
    except OSError:
        return False
    return True


def test_a_real_browser_shows_the_desk_takes_keys_and_resizes(
    served: Served, browser: Browser
) -> None:
    browser.open(served.address)
    wait_until(lambda: browser.run(DRAWN), browser.picture)
    where = browser.run("return location.href")
    pictures = [shown(browser)]
    browser.press("?")
    pictures.append(shown(browser, but=pictures[-1]))
    browser.resize(900, 600)
    pictures.append(shown(browser, but=pictures[-1]))

    assert "token" not in where, "the token is gone from the address line"
    assert len(set(pictures)) == len(pictures)


DRAWN = """
return document.body.classList.contains("-first-byte")
  && document.activeElement.classList.contains("xterm-helper-textarea")
"""


def shown(browser: Browser, *, but: bytes = b"") -> bytes:
    """What stands there once it is another picture than before."""
    found = [but]

    def changed() -> bool:
        found.append(browser.picture())
        return found[-1] != but

    wait_until(changed, "another picture")
    return found[-1]
