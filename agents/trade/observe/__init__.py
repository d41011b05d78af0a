"""How the desk sees: the venue's public market, and the twelve kinds of context around it."""
