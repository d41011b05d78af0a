"""What people type, understood by a grammar of plain words; no model turns words into actions."""
