"""A run of the trade desk as screen, command line, reports and chat show it."""
