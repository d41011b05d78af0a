"""People: the command line, the screen, the settings."""

RELEASED = "2026-11-18"
"""Of the version in pyproject.toml, or of its last change before that: the manual's date."""
