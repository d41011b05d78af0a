"""A topic a file: the record that a command answers with, and its page."""
