"""Contracts as bytes: encoding, storage, pool keys, hooks, code hashes, networks and addresses."""
