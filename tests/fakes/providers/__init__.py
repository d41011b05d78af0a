"""Providers of RPC as they are, in front of a chain whose blocks and clock cost nothing."""
