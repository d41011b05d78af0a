"""How often a channel speaks: what goes at once, what waits, what is told together."""
