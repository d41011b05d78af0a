"""A window to look through: the desk in a browser on this machine, for looks alone."""
