"""Uniswap's default token list as data files: `python -m tools.release.token_list VERSION`.

The npm package is fetched by the configured npm and checked against the digest its registry gives
for it. Of each token on a network that zuno knows its address, symbol and decimals are kept: facts
alone, for the package as such is under the GNU General Public License.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from chain.base.strict_json import loads
from chain.contracts.addresses import checksum
from chain.contracts.networks import all_networks
from chain.tokens.token import MOST_DECIMALS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PACKAGE = "@uniswap/default-token-list"
LIST = "package/build/uniswap-default.tokenlist.json"
FOLDER = Path(__file__).parents[2] / "chain" / "data" / "default_tokens"

_ADDRESS = re.compile(r"0x[0-9a-f]{40}")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_SYMBOL = re.compile(r"[\x21-\x7e]{1,32}")
_SECONDS = 180


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1 or not _VERSION.fullmatch(arguments[0]):
        sys.stderr.write(
            "Name the version to pin, like: python -m tools.release.token_list 22.21.0\n"
        )
        return 2
    version = arguments[0]
    for name, text in data_files(fetched(version), version).items():
        (FOLDER / name).write_text(text, "utf-8")
        sys.stdout.write(f"{name}: {len(json.loads(text)['tokens'])} tokens\n")
    return 0


def fetched(version: str) -> bytes:
    """The package's archive, as its registry vouches for it."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["npm", "pack", f"{PACKAGE}@{version}", "--json"],
            cwd=folder,
            capture_output=True,
            check=True,
            timeout=_SECONDS,
        )
        [packed] = json.loads(done.stdout)
        archive = (
            Path(folder) / str(packed["filename"]).replace("/", "-").lstrip("@")
        ).read_bytes()
    if packed["integrity"] != integrity(archive):
        raise ValueError(f"{PACKAGE} {version} is not what its registry gives a digest of.")
    return archive


def integrity(archive: bytes) -> str:
    """The digest as npm writes it."""
    return "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()


def data_files(archive: bytes, version: str) -> dict[str, str]:
    """By name what each network's file holds; the same archive gives the same bytes."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as packed:
        member = packed.extractfile(LIST)
        if member is None:
            raise ValueError(f"{PACKAGE} {version} holds no token list.")
        told = loads(member.read())
    match told:
        case {"tokens": list(tokens)}:
            pass
        case _:
            raise ValueError(f"{PACKAGE} {version} holds no token list.")
    source = {"package": PACKAGE, "version": version, "integrity": integrity(archive)}
    written = {}
    for network in all_networks():
        rows = sorted(_rows(tokens, network.chain_id))
        if rows:
            written[f"{network.name}.json"] = _file_text(source, rows)
    return written


def _rows(tokens: Sequence[object], chain_id: int) -> Iterator[tuple[str, str, int]]:
    for token in tokens:
        match token:
            case {
                "chainId": int(chain),
                "address": str(address),
                "symbol": str(symbol),
                "decimals": int(decimals),
            } if chain == chain_id:
                lowered = address.lower()
                if not _ADDRESS.fullmatch(lowered) or not 0 <= decimals <= MOST_DECIMALS:
                    raise ValueError(f"The list's {symbol!r} on chain {chain} cannot be used.")
                if _SYMBOL.fullmatch(symbol):
                    yield checksum(lowered), symbol, decimals


def _file_text(source: Mapping[str, str], rows: Sequence[tuple[str, str, int]]) -> str:
    lines = ",\n".join(json.dumps(row) for row in rows)
    head = json.dumps(source)[:-1]
    return f'{head}, "tokens": [\n{lines}\n]}}\n'


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
