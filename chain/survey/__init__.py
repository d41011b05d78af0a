"""The pools of a network: found, remembered and ranked by what they hold."""
