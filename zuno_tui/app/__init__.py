"""What can be done, under the desk and the command line alike: a topic a file.

As `app.positions` a topic is loaded when it is first used: most commands need one of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zuno_tui.app import (  # noqa: F401
        alerts,
        approve,
        balances,
        debate,
        diff,
        earned,
        exit_drill,
        export,
        inspect,
        market,
        model,
        monitor,
        outbox,
        plans,
        pools,
        portfolio,
        portfolio_view,
        positions,
        price,
        range,  # noqa: A004
        replay,
        revoke,
        setting,
        tour,
        what_if,
    )
else:
    from zuno_tui.late import late_modules

    __getattr__ = late_modules(__name__)
