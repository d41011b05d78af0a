"""The software bill of materials in CycloneDX: `python -m tools.release.sbom FILE`.

Made from the lock files alone, so that the same locks give the same bytes on every machine. The
locks know no licences, so none is claimed but the project's own.
"""

from __future__ import annotations

import json
import sys
import tomllib
import uuid
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from tools.release.python_lock import LockedPackage, read_lock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

ROOT = Path(__file__).resolve().parents[2]
SPEC_VERSION = "1.6"
_EXTRAS = ("charts", "mesh", "trade")

_PYTHON_LOCK = "requirements.lock"
_NPM_LOCK = "chain/devnet/npm.lock.json"


def bill_of_materials(root: Path) -> dict[str, Json]:
    """The whole document; nothing in it depends on when or where it is made."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    packages = read_lock((root / _PYTHON_LOCK).read_text("utf-8"))
    npm = json.loads((root / _NPM_LOCK).read_text("utf-8"))
    contracts = [*npm["contracts"], *(each for each in npm["anvil"] if each["integrity"])]
    required = _reachable(packages, project["dependencies"])
    optional = _reachable(
        packages,
        [needed for extra in _EXTRAS for needed in project["optional-dependencies"][extra]],
    )
    ours = f"{project['name']}@{project['version']}"
    components = [
        *(_python_component(one, _scope(one.name, required, optional)) for one in packages),
        *map(_contract_component, contracts),
    ]
    document: dict[str, Json] = {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPEC_VERSION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPEC_VERSION,
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": ours,
                "name": project["name"],
                "version": project["version"],
                "description": project["description"],
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": components,
        "dependencies": _dependencies(ours, project["name"], packages, contracts),
    }
    content = json.dumps(document, sort_keys=True)
    return {**document, "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}"}


def _scope(name: str, required: frozenset[str], optional: frozenset[str]) -> str:
    if name in required:
        return "required"
    return "optional" if name in optional else "excluded"


def _python_component(package: LockedPackage, scope: str) -> Json:
    told: dict[str, Json] = {
        "type": "library",
        "bom-ref": _python_purl(package),
        "name": package.name,
        "version": package.version,
        "purl": _python_purl(package),
        # Of its source and of every wheel: which of them is installed depends on the machine.
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in package.hashes],
        "scope": scope,
    }
    if package.marker:
        told["properties"] = [{"name": "python:marker", "value": package.marker}]
    return told


def _contract_component(package: Mapping[str, Mapping[str, Mapping[str, str]]]) -> Json:
    """A package of contracts, with the very files that are taken out of it."""
    purl = _npm_purl(package)
    algorithm, _, digest = str(package["integrity"]).partition("-")
    if algorithm != "sha512":
        raise ValueError(f"{purl} is locked by {algorithm}, and not by sha512.")
    return {
        "type": "library",
        "bom-ref": purl,
        "name": str(package["name"]),
        "version": str(package["version"]),
        "purl": purl,
        "hashes": [{"alg": "SHA-512", "content": b64decode(digest).hex()}],
        "scope": "optional",
        "components": [
            {
                "type": "file",
                "bom-ref": f"{purl}#{file['path']}",
                "name": file["path"],
                "hashes": [{"alg": "SHA-256", "content": file["sha256"]}],
            }
            for file in package["files"].values()
        ],
    }


def _dependencies(
    ours: str,
    name: str,
    packages: Sequence[LockedPackage],
    contracts: Sequence[Mapping[str, Mapping[str, Mapping[str, str]]]],
) -> Json:
    """Who needs whom, as the lock says of each package; the contracts are the project's own."""
    needs: dict[str, set[str]] = {one.name: set() for one in packages}
    direct = {_npm_purl(one) for one in contracts}
    for package in packages:
        for parent in package.needed_by:
            if parent == name:
                direct.add(_python_purl(package))
            else:
                needs[parent].add(_python_purl(package))
    return [
        {"ref": ours, "dependsOn": sorted(direct)},
        *({"ref": _python_purl(one), "dependsOn": sorted(needs[one.name])} for one in packages),
    ]


def _reachable(packages: Sequence[LockedPackage], dependencies: Sequence[str]) -> frozenset[str]:
    """These requirements, and everything that they need in turn."""
    found = {_requirement_name(one) for one in dependencies}
    while True:
        more = {one.name for one in packages if not found.isdisjoint(one.needed_by)} | found
        if more == found:
            return frozenset(found)
        found = more


def _requirement_name(requirement: str) -> str:
    name = requirement
    for mark in "<>=!~[; ":
        name = name.partition(mark)[0]
    return name.lower().replace("_", "-")


def _python_purl(package: LockedPackage) -> str:
    return f"pkg:pypi/{package.name}@{package.version}"


def _npm_purl(package: Mapping[str, object]) -> str:
    return f"pkg:npm/{quote(str(package['name']))}@{package['version']}"


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        sys.stderr.write("Name the file to write: python -m tools.release.sbom FILE\n")
        return 2
    path = Path(arguments[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(bill_of_materials(ROOT), indent=2, sort_keys=True) + "\n", "utf-8")
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
