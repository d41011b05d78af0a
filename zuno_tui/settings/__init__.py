"""What the person chose: every table of `settings.toml`, the environment, the flags."""

from zuno_tui.settings.check import SettingsError
from zuno_tui.settings.load import Flags, Settings, load_settings
from zuno_tui.settings.schema import checked_url

__all__ = ["Flags", "Settings", "SettingsError", "checked_url", "load_settings"]
