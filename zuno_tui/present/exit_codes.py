"""How a command ended, as the shell sees it."""

DONE, FAILED, USAGE, REFUSED, NETWORK = range(5)
