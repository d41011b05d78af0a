"""Where positions are: how each protocol's are named, found and read."""
