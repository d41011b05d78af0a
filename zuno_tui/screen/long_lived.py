"""What is in memory for long, out of the garbage collector's way."""

import gc


def spare_the_long_lived() -> None:
    """Collect once, then leave out what is there: looking through all of it costs several keys."""
    gc.collect()
    gc.freeze()
