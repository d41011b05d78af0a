"""Pictures as files, a file a kind; matplotlib, the extra `charts`, is imported here alone."""
