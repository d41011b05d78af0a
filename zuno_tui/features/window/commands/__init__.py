"""The command that opens a window."""
