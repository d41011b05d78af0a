"""Standing orders: signed once by the owner, carried out by a watch key, enforced by the chain."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zuno_tui.features.orders import answers  # noqa: F401
else:
    from zuno_tui.late import late_modules

    __getattr__ = late_modules(__name__)
