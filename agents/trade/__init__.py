"""The trade desk: four experts, a judge, a risk officer and a guard argue about one contract."""

FLOW = "trade"
"""As its records and plans name it."""
