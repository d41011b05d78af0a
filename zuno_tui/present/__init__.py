"""Words and cards that the screen and the command line share."""
