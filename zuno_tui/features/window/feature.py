"""The window, as the rest of the app finds it: by its command alone."""

from zuno_tui.app.feature import Feature

FEATURE = Feature(name="window")
