"""Names of addresses, as the Ethereum Name Service keeps them."""
