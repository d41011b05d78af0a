"""What the person chose: every table of `settings.toml`, the environment, the flags."""

from zuno_tui.settings.loading import Flags, Settings, SettingsError, checked_url, load_settings

__all__ = ["Flags", "Settings", "SettingsError", "checked_url", "load_settings"]
