"""No test knows how fast the machine is: none waits a few seconds, none asserts on seconds."""

import pytest

from tests.clock_use import offences
from tests.fork_server import ROOT

OFFENDERS = {
    "a sleep": "import time\ntime.sleep(0.1)",
    "a sleep of a loop": "import asyncio\nasync def f():\n    await asyncio.sleep(5)",
    "another name for it": "from time import sleep as nap\nnap(1)",
    "a name bound to it": "import time\nrest = time.sleep\nrest(1)",
    "for another to call": "from asyncio import to_thread\nimport time\nto_thread(time.sleep, 2)",
    "by keyword": "Thread(target=time.sleep, args=(1,))",
    "a constant": "PAUSE = 0.05\ntime.sleep(PAUSE)",
    "a constant of constants": "A, B = 2, 3\nLIMIT = A * B + 1\nawait_for = wait_for(x, LIMIT)",
    "a negative": "time.sleep(-1 + 2)",
    "a default": "def f(seconds=5.0):\n    wait_for(x, seconds)",
    "a default by keyword": "def f(*, within: float = 5):\n    wait_for(x, within)",
    "an attribute": "class A:\n    limit: float = 3\n    def f(self):\n        sleep(self.limit)",
    "one that is set": "self.limit = 3\nsleep(self.limit)",
    "one of two": "time.sleep(0.5 if fast else 90)",
    "the least of": "time.sleep(min(1, left))",
    "one of a list": "for pause in (0.1, 90):\n    time.sleep(pause)",
    "walrus": "time.sleep(pause := 3)",
    "imported": "from tests.zuno_tui.screen_terminal import _HAND_SECONDS\nsleep(_HAND_SECONDS)",
    "of a module": "import tests.zuno_tui.screen_terminal as t\nsleep(t._HAND_SECONDS)",
    "wait_for": "asyncio.wait_for(work, timeout=59.9)",
    "wait_for by place": "asyncio.wait_for(work, 5)",
    "a timeout": "async def f():\n    async with asyncio.timeout(5): ...",
    "of a process": "subprocess.run(words, timeout=30)",
    "of a connection": "connect(url, open_timeout=5)",
    "of a socket": "s.settimeout(5)",
    "of a client": "httpx.Client(timeout=httpx.Timeout(5))",
    "of an event": "done.wait(5)",
    "of a queue": "q.get(timeout=1)",
    "of a thread": "t.join(10)",
    "of a mark": "@pytest.mark.timeout(20)\ndef test_x(): ...",
    "of a handler": "class Handler:\n    timeout = 0.05",
    "nothing at all": "q.get(timeout=0)",
    "a deadline": "import time\nends = time.monotonic() + 10",
    "a clock": "assert time.monotonic() - began < 2",
    "a counter": "from time import perf_counter\nassert perf_counter() - began < 2",
    "another name for a clock": "from time import monotonic as now\nassert now() - began < 2",
    "a loop's clock": "assert asyncio.get_running_loop().time() - began < 2",
    "a name for it": "began = monotonic()\nwork()\ntook = monotonic() - began\nassert took < 2",
    "the longest": "longest = max(longest, perf_counter() - before)\nassert longest < 1",
    "in a function": "def took():\n    return monotonic() - began\nassert took() < 2",
    "half of what comes": "def f():\n    return x, monotonic() - b\nx, took = f()\nassert took < 2",
    "in an attribute": "self.took = monotonic() - began\nassert self.took < 2",
}
INNOCENT = {
    "a turn of the loop": "await_ = asyncio.sleep(0)",
    "on the virtual clock": "from tests.virtual_time import pass_time\npass_time(5)",
    "by the virtual clock": "began = virtual_now()\nassert virtual_now() - began == 5",
    "a minute": "asyncio.wait_for(work, 60)",
    "an hour": "LIMIT = 60 * 60\nsubprocess.run(words, timeout=LIMIT)",
    "no limit": "subprocess.run(words, timeout=None)",
    "as given": "def f(pause):\n    time.sleep(pause)",
    "another's default": "def f(pause=1): ...\ndef g(pause):\n    time.sleep(pause)",
    "a word that is joined": "', '.join(words)",
    "what is not waited for": "client(answer_seconds=5)\nretries = 5",
    "the date": "import time\nassert store.read(time.time()) == 5",
    "a record": "began = monotonic()\nprint(monotonic() - began)",
    "what happened meanwhile": "began = monotonic()\nfound = look(began)\nassert found.rows == 3",
}


@pytest.mark.parametrize("source", OFFENDERS.values(), ids=OFFENDERS)
def test_it_is_found(source: str) -> None:
    assert offences(source)


@pytest.mark.parametrize("source", INNOCENT.values(), ids=INNOCENT)
def test_it_is_left_alone(source: str) -> None:
    assert offences(source) == []


def test_no_test_waits_for_seconds_or_asserts_on_them() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{offence.line}: {offence.why}"
        for file in sorted((ROOT / "tests").rglob("*.py"))
        for offence in offences(file.read_text("utf-8"))
    ]
    assert found == []
