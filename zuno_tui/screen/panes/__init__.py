"""What the desk's screen is made of: each pane draws one view and computes nothing."""
