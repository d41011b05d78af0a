"""The door for other agents, as the rest of the app finds it: by its command alone."""

from zuno_tui.catalog.feature import Feature

FEATURE = Feature(name="mcp")
