"""`python -m chain.devnet`: the embedded chain on its own."""

import sys

from chain.devnet.process import main

if __name__ == "__main__":
    sys.exit(main())
