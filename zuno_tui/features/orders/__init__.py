"""Standing orders: signed once by the owner, carried out by a watch key, enforced by the chain."""
