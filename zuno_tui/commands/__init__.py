"""The commands: what each takes, does and shows."""
