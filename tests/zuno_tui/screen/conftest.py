"""A quiet terminal for the screen's tests: no colour wishes, no animations, no clock but ours."""

from __future__ import annotations

import os

# Textual reads these while it is imported, so they go before anything imports it.
for name in [name for name in os.environ if name.startswith("TEXTUAL") or name == "NO_COLOR"]:
    del os.environ[name]
os.environ["TEXTUAL_ANIMATIONS"] = "none"
