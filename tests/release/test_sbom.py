"""What is locked, and the bill of materials."""

import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.release.python_lock import read_lock
from tools.release.run_lock import run_lock
from tools.release.sbom import ROOT, bill_of_materials

LOCK = (ROOT / "requirements.lock").read_text("utf-8")
NPM_LOCK = json.loads((ROOT / "chain/devnet/npm.lock.json").read_text("utf-8"))
COMPONENT_TYPES = {"application", "library", "file"}
HEX_LENGTHS = {"SHA-256": 64, "SHA-512": 128}


@pytest.fixture(scope="module")
def bill() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(bill_of_materials(ROOT)))
    return made


def _all_components(bill: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield bill["metadata"]["component"]
    for one in bill["components"]:
        yield one
        yield from one.get("components", ())


def test_it_has_the_form_of_cyclonedx(bill: dict[str, Any]) -> None:
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    uuid = r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    assert re.fullmatch(uuid, bill["serialNumber"])
    for one in _all_components(bill):
        assert one["type"] in COMPONENT_TYPES
        assert one["name"]
        assert one.get("scope") in (None, "required", "optional", "excluded")
        for digest in one.get("hashes", ()):
            assert re.fullmatch(rf"[0-9a-f]{{{HEX_LENGTHS[digest['alg']]}}}", digest["content"])


def test_every_reference_is_one_of_a_component(bill: dict[str, Any]) -> None:
    references = [one["bom-ref"] for one in _all_components(bill)]
    assert len(references) == len(set(references))
    listed = [one["ref"] for one in bill["dependencies"]]
    assert len(listed) == len(set(listed))
    for one in bill["dependencies"]:
        assert {one["ref"], *one["dependsOn"]} <= set(references)


def test_each_locked_package_is_in_it_once_with_its_hashes(bill: dict[str, Any]) -> None:
    """Counted in the lock by other means than those the bill is made with."""
    names = re.findall(r"^([^\s=]+)==([^\s;\\]+)", LOCK, re.MULTILINE)
    python = [one for one in bill["components"] if one["purl"].startswith("pkg:pypi/")]
    hashes = Counter(digest["content"] for one in python for digest in one["hashes"])

    assert len(names) > 100
    assert sorted((one["name"], one["version"]) for one in python) == sorted(names)
    assert {one["purl"] for one in python} == {f"pkg:pypi/{name}@{at}" for name, at in names}
    assert hashes == Counter(re.findall(r"--hash=sha256:([0-9a-f]{64})", LOCK))


def test_each_npm_package_is_in_it_with_its_files(bill: dict[str, Any]) -> None:
    """But those whose digest nobody has seen: their bytes are not known."""
    seen = [one for part in ("contracts", "anvil") for one in NPM_LOCK[part] if one["integrity"]]
    npm = {one["name"]: one for one in bill["components"] if one["purl"].startswith("pkg:npm/")}

    assert list(npm) == [one["name"] for one in seen]
    assert npm["@uniswap/v4-core"]["purl"].startswith("pkg:npm/%40uniswap/v4-core@")
    assert "@foundry-rs/anvil-linux-amd64" in npm
    for package in seen:
        told = npm[package["name"]]
        files = {one["name"]: one["hashes"][0]["content"] for one in told["components"]}
        assert files == {one["path"]: one["sha256"] for one in package["files"].values()}
        assert told["hashes"][0]["alg"] == "SHA-512"


def test_what_runs_is_told_from_what_develops(bill: dict[str, Any]) -> None:
    scopes = {one["name"]: one["scope"] for one in bill["components"]}

    assert (scopes["textual"], scopes["httpcore2"]) == ("required", "required")
    assert (scopes["matplotlib"], scopes["nats-py"]) == ("optional", "optional")
    assert (scopes["pytest"], scopes["ruff"], scopes["mypy"]) == ("excluded",) * 3


def test_it_names_no_registry_and_no_moment(bill: dict[str, Any]) -> None:
    text = json.dumps(bill)

    assert "timestamp" not in text
    assert re.findall(r"https?://[^/\"]+", text) == ["http://cyclonedx.org"]


def test_two_runs_write_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        path = tmp_path / name / "sbom.cdx.json"
        subprocess.run(
            [sys.executable, "-m", "tools.release.sbom", str(path)],
            check=True,
            cwd=ROOT,
            timeout=60,
        )
    first, second = ((tmp_path / name / "sbom.cdx.json").read_bytes() for name in ("one", "two"))

    assert first == second
    assert first.endswith(b"}\n")


@pytest.mark.parametrize(
    "text",
    [
        "aiohttp>=3\n",
        "aiohttp==3.1\n",
        "aiohttp==3.1 \\\n    --hash=md5:00\n",
        f"aiohttp==3.1 \\\n    --hash=sha256:{'0' * 63}\n",
        "-r other.txt\n",
    ],
)
def test_a_lock_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"lock"):
        read_lock(text)


def test_what_makes_the_lock_is_locked_itself() -> None:
    (uv,) = read_lock((ROOT / "requirements-uv.lock").read_text("utf-8"))
    makefile = (ROOT / "Makefile").read_text("utf-8")

    assert uv.name == "uv"
    assert re.search(r"--require-hashes.* -r requirements-uv\.lock", makefile)
    assert "pip install --quiet uv" not in makefile


PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")


def _names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=!~;\[ ]", entry, maxsplit=1)[0] for entry in requirements}


def test_it_has_what_running_needs_by_the_same_hashes_and_none_of_the_tools() -> None:
    project = tomllib.loads(PROJECT)["project"]
    chosen, known = read_lock(run_lock(LOCK, PROJECT)), set(read_lock(LOCK))
    names = {package.name for package in chosen}

    assert set(chosen) <= known
    assert _names(project["dependencies"]) <= names
    extras = project["optional-dependencies"]
    tools = _names(extras["dev"]) - {"hatchling", "editables"}
    assert not names & (tools | _names(extras["charts"]) | _names(extras["trade"]))


def test_nothing_it_needs_is_left_out() -> None:
    names = {package.name for package in read_lock(run_lock(LOCK, PROJECT))}

    left_out = [package for package in read_lock(LOCK) if package.name not in names]
    assert not [package.name for package in left_out if names & set(package.needed_by)]
