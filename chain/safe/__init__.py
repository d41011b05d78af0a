"""A Safe as the wallet: what it is, what its owners sign, and the files signatures travel in."""
