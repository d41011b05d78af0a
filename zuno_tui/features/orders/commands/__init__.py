"""The commands of standing orders, a file each."""
