"""Sentences as people say them, turned into the phrases of verbs; no word is passed over."""
