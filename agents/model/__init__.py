"""The language model: asking it, what it may cost, and whether its numbers are true."""
