"""A door for other agents: what zuno reads and thinks, over the Model Context Protocol."""
