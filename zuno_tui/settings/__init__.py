"""What the person chose: every table of `settings.toml`, the environment, the flags."""

from zuno_tui.settings.load import Flags, Settings, SettingsError, checked_url, load_settings

__all__ = ["Flags", "Settings", "SettingsError", "checked_url", "load_settings"]
