"""What goes with a release besides the program."""
