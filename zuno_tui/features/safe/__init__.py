"""A Safe as the wallet: its owners sign one after the other, and anybody executes it then."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zuno_tui.features.safe import answers  # noqa: F401
else:
    from zuno_tui.late import late_modules

    __getattr__ = late_modules(__name__)
