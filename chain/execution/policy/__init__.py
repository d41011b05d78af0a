"""Which decoded transactions may be signed."""
