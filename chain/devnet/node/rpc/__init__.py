"""JSON-RPC over a node: parameters in, JSON out, geth's words for what goes wrong."""
