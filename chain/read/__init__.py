"""Reads of one block and scans of logs, in as few requests as they fit into."""
