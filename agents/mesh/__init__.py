"""Agents as peers on a network: signed messages that arrive once, over AXL or NATS."""
