"""The lab, as the rest of the app finds it: by its commands alone."""

from __future__ import annotations

from zuno_tui.catalog.feature import Feature

FEATURE = Feature(name="lab")
