"""People: the command line, the screen, the settings."""
