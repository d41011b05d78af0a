"""Exchanges through ccxt (extra `trade`): loaded when one is opened, and never by whoever reads.

The package's own start loads every exchange it knows, which takes seconds; here it is entered
beside that, and only the exchange that is asked for is loaded.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from chain.base.errors import Failure, ZunoError

_PACKAGES = ("ccxt", "ccxt.async_support")
RECEIVE_MILLISECONDS = 5_000
"""After this a venue refuses a request that was on its way for so long."""
TIMEOUT_MILLISECONDS = 10_000


class VenuePackageError(ZunoError):
    """What speaks with exchanges is not installed."""

    failure = Failure.REFUSED


class VenueKeys(Struct, frozen=True):
    """What an account is reached with; never printed."""

    key: str
    secret: str

    def __repr__(self) -> str:
        return "VenueKeys(…)"


def open_client(
    exchange: str,
    keys: VenueKeys | None = None,
    *,
    base_url: str | None = None,
    options: Mapping[str, object] | None = None,
) -> Any:  # noqa: ANN401 - ccxt's classes have no types
    """An exchange of this id, at another address where one is given; the caller closes it."""
    _prepare()
    kind = getattr(importlib.import_module(f"ccxt.async_support.{exchange}"), exchange)
    secrets = {} if keys is None else {"apiKey": keys.key, "secret": keys.secret}
    client = kind(
        {
            **secrets,
            "enableRateLimit": not _is_here(base_url),
            "timeout": TIMEOUT_MILLISECONDS,
            # An order is never sent a second time by itself.
            "options": {
                "maxRetriesOnFailure": 0,
                "fetchCurrencies": False,
                "recvWindow": RECEIVE_MILLISECONDS,
                **(options or {}),
            },
        }
    )
    if base_url is not None:
        client.urls["api"] = _rebased(client.urls["api"], base_url.rstrip("/"))
    return client


def _is_here(base_url: str | None) -> bool:
    """This machine's own servers are asked as fast as they answer."""
    return base_url is not None and urlsplit(base_url).hostname in ("127.0.0.1", "localhost")


def ccxt_errors() -> ModuleType:
    """The errors that clients raise."""
    _prepare()
    return importlib.import_module("ccxt.base.errors")


def _prepare() -> None:
    if importlib.util.find_spec("ccxt") is None:
        raise VenuePackageError(
            "Trading on an exchange needs the package ccxt. Install it: pip install zuno-tui[trade]"
        )
    if "ccxt" in sys.modules:
        return
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.submodule_search_locations is None:
            raise VenuePackageError(f"The package ccxt is damaged: {name} is missing. Install it.")
        module = ModuleType(name)
        module.__path__ = list(spec.submodule_search_locations)
        module.__spec__ = spec
        sys.modules[name] = module
    ccxt = sys.modules["ccxt"]
    errors = importlib.import_module("ccxt.base.errors")
    vars(ccxt).update({name: one for name, one in vars(errors).items() if name[0] != "_"})
    vars(ccxt)["Exchange"] = importlib.import_module("ccxt.base.exchange").Exchange


def _rebased(urls: object, base_url: str) -> object:
    """The same paths on another host."""
    if isinstance(urls, dict):
        return {name: _rebased(one, base_url) for name, one in urls.items()}
    return f"{base_url}{urlsplit(str(urls)).path}"
