"""The full-screen app around the screens: how it starts, what passes through it, how it ends."""
