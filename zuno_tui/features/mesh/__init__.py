"""The mesh: agents in processes and on machines of their own."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zuno_tui.features.mesh import agent, membership, mesh  # noqa: F401
else:
    from zuno_tui.late import late_modules

    __getattr__ = late_modules(__name__)
