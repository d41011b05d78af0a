"""Settings of a file in which every name must be known, as tests of mistakes want them."""

from collections.abc import Mapping
from pathlib import Path

from zuno_tui.settings import Flags, Settings, SettingsError, load_settings


def load_strictly(path: Path, environment: Mapping[str, str] | None = None) -> Settings:
    """What is not understood is left out by the product and told; here it is a mistake."""
    settings = load_settings(path, environment or {}, Flags())
    for unknown in settings.not_understood:
        raise SettingsError(unknown.sentence, unknown.place)
    return settings
