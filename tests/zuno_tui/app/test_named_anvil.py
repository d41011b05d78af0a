"""The node that the settings name is found by every process, unless the shell names one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from zuno_tui.app.session import name_anvil
from zuno_tui.settings import Flags, load_settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("shell", "found"), [({}, "/opt/anvil"), ({"ZUNO_ANVIL": "/mine"}, "/mine")]
)
def test_the_named_node_is_used(tmp_path: Path, shell: dict[str, str], found: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('[demo]\nanvil = "/opt/anvil"\n', "utf-8")
    environment = dict(shell)

    name_anvil(load_settings(file, environment, Flags()), environment)

    assert environment["ZUNO_ANVIL"] == found
