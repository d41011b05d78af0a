"""Whether pictures can be drawn as files here, and what to install where not."""

from __future__ import annotations

from importlib.util import find_spec

from chain.base.errors import ZunoError


class ChartError(ZunoError):
    """A picture that cannot be drawn or written; says what to do."""


def require_chart_packages() -> None:
    if find_spec("matplotlib") is None:
        raise ChartError(
            "A picture as a file needs a package that is not installed: the extra `charts`.\n"
            "In a checkout run: make setup. As an application: pipx install --force '.[charts]', "
            "or uv tool install --force '.[charts]', in the folder of the source."
        )
