"""What a test has found, as a line for whoever runs it with -s."""

import sys


def printed(line: str) -> None:
    sys.stdout.write(f"\n{line}\n")
