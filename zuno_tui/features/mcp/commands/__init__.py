"""The command of the door for other agents."""
