"""The watch over a home: what it looks at, how the settings change it, whether it is kept."""
