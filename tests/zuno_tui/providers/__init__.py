"""Whole commands and the desk's reading, through the habits of providers."""
