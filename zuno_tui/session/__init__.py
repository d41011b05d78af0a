"""What every command stands on: home, settings, connections, debates held and replayed."""
