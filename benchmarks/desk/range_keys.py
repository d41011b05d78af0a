"""The range form on the real screen, with a made-up pool behind it; keys come from outside."""

from __future__ import annotations

import time

from benchmarks.desk.three_speakers import Nobody
from tests.zuno_tui.screen.range_scene import RANGE
from zuno_tui.screen.app.app import ZunoApp
from zuno_tui.screen.full_collections import FullCollections

MARKER = "your range lies between"


def main() -> None:
    app = ZunoApp(
        Nobody(),
        after_first_paint=lambda: app.hear(RANGE),
        collections=FullCollections(time.monotonic),  # as at the desk
    )
    app.run(mouse=False)


if __name__ == "__main__":
    main()
