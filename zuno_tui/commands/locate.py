"""`zuno locate`: where zuno keeps its files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from chain.base.home import Home
from zuno_tui.shown.output import print_json, print_lines

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    home = Home.locate(os.environ, arguments.home)
    places = {
        "home": home.root,
        "settings": home.settings,
        "database": home.database,
        "outbox": home.outbox,
        "alerts": home.alerts,
        "plans": home.plans,
        "records": home.records,
        "keystore": home.keystore,
        "history": home.history,
        "log": home.log,
        "cache": home.cache,
    }
    if arguments.json:
        print_json({name: str(path) for name, path in places.items()})
        return 0
    width = max(map(len, places))
    print_lines(
        f"{name:<{width}}  {path}{'' if path.exists() else '  (not there yet)'}"
        for name, path in places.items()
    )
    return 0
