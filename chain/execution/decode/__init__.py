"""Transactions read back from their own bytes, in records and in words."""
