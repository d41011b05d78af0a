"""Scripts that measure the project; none of it is part of the program."""
