"""What commands do when they run, apart from their declarations: listing them costs nothing."""
