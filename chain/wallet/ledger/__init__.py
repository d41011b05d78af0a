"""Keys on a Ledger: its Ethereum app asked over USB, or over TCP for emulators and bridges."""
