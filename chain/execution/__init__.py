"""From a choice to the chain: transactions built, read back, judged, and kept until final."""
