"""A command that tells what it loaded while a deadline of under a minute was running."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

_MINUTE = 60.0
_waiting: dict[asyncio.Timeout, str] = {}
_loaded: dict[str, list[str]] = {}
_enter, _leave = asyncio.Timeout.__aenter__, asyncio.Timeout.__aexit__


async def _entered(limit: Any) -> Any:
    begun = await _enter(limit)
    ends = limit.when()
    if ends is not None and ends - asyncio.get_running_loop().time() < _MINUTE:
        frame = sys._getframe(1)
        _waiting[limit] = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    return begun


async def _left(limit: Any, *error: Any) -> Any:
    _waiting.pop(limit, None)
    return await _leave(limit, *error)


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    """Python says so of each module that it does not have yet, whichever thread loads it."""
    if event == "import" and _waiting:
        name = str(arguments[0])
        if name.partition(".")[0] not in sys.stdlib_module_names:
            _loaded.setdefault(name, sorted(set(_waiting.values())))


async def _planted(seconds: float) -> None:
    async with asyncio.timeout(seconds):
        await asyncio.sleep(0)
        import wcwidth  # noqa: F401


def probe(arguments: list[str]) -> None:
    for name, own in (("__aenter__", _entered), ("__aexit__", _left)):
        setattr(asyncio.Timeout, name, own)
    sys.addaudithook(_hear)
    from zuno_tui.cli import main

    if arguments[0] == "planted":
        asyncio.run(_planted(float(arguments[1])))
        code: object = 0
    else:
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = ended.code
    found = {name: places for name, places in _loaded.items() if name in sys.modules}
    sys.stderr.write(f"\nPROBE {json.dumps([code, found])}\n")


if __name__ == "__main__":
    probe(sys.argv[1:])
