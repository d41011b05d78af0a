"""Pictures in a terminal: by Kitty's protocol, as Sixel, or as coloured half blocks."""
