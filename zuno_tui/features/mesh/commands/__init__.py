"""The commands of the mesh."""
