"""The full-screen app: screens, panes, drawings, keys and themes."""
