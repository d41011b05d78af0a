"""The commands of a Safe, a file each."""
