"""`python -m chain.devnet.set_up`: fetch what the embedded chain needs, so that it runs offline."""

import os
import sys

from chain.devnet.anvil import AnvilError, PackageError, find_anvil
from chain.devnet.world.deployment import contract_codes
from chain.devnet.world.v3_life import v3_codes


def main() -> int:
    """A platform without Anvil is told so, and everything but the embedded chain works there."""
    try:
        count = len(contract_codes(os.environ)) + len(v3_codes(os.environ))
        sys.stderr.write(f"{count} contracts are in the cache and match npm.lock.json.\n")
        sys.stderr.write(f"Anvil: {find_anvil(os.environ).origin}.\n")
    except AnvilError as error:
        sys.stderr.write(f"{error}\n")
    except PackageError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
