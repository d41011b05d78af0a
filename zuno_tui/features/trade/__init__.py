"""The trade desk: runs about a coin, hedges of positions, and orders on a venue."""
