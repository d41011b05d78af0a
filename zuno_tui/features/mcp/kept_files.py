"""Plans and records as resources: the latest, in pages, with strangers' words marked."""

import json
import re
from pathlib import Path
from typing import NamedTuple

from chain.base.home import Home
from zuno_tui.features.mcp.bounds import page_of
from zuno_tui.present.output import Json

MOST_LISTED = 100
_MOST_BYTES = 20_000_000
_DEMO = "demo.json"
_URI = re.compile(r"zuno://(plans|records)/([A-Za-z0-9_-]{1,80})(?:/([1-9][0-9]{0,3}))?")
_SUFFIXES = {"plans": ".json", "records": ".jsonl"}


class KeptFile(NamedTuple):
    uri: str
    path: Path
    mime: str


def home_read(home: Home) -> Path:
    """Where its commands keep plans: a demo that runs has a home of its own."""
    try:
        told = json.loads((home.root / _DEMO).read_text("utf-8"))
        folder = Path(told["home"])
    except (OSError, ValueError, KeyError, TypeError):
        return home.root
    return folder if folder.is_dir() else home.root


def latest_files(home: Home) -> list[KeptFile]:
    found: list[KeptFile] = []
    for kind, suffix in _SUFFIXES.items():
        folder = home_read(home) / kind
        files = [path for path in folder.glob(f"*{suffix}") if path.is_file()]
        files.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        mime = "application/json" if suffix == ".json" else "application/x-ndjson"
        found += [
            KeptFile(f"zuno://{kind}/{path.stem}", path, mime) for path in files[:MOST_LISTED]
        ]
    return found


def read_kept(home: Home, uri: str) -> tuple[str, str] | None:
    """A page of it as text, and its kind; None where there is no such plan or record."""
    matched = _URI.fullmatch(uri)
    if matched is None:
        return None
    kind, name, page = matched.groups()
    path = home_read(home) / kind / f"{name}{_SUFFIXES[kind]}"
    if not path.is_file() or path.is_symlink() or path.stat().st_size > _MOST_BYTES:
        return None
    text = path.read_text("utf-8", "replace")
    document: Json = {"lines": _lines(text)} if kind == "records" else _loaded(text)
    bounded = page_of(document, int(page or 1), foreign=True)
    return json.dumps(bounded, ensure_ascii=False), "application/json"


def _lines(text: str) -> Json:
    return [_loaded(line) for line in text.splitlines() if line.strip()]


def _loaded(text: str) -> Json:
    try:
        loaded: Json = json.loads(text)
    except ValueError:
        return {"unreadable": text[:200]}
    return loaded
