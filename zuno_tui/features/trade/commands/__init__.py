"""The commands of the trade desk."""
