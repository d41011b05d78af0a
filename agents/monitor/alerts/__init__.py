"""Alerts, their lifecycle and where they are kept."""
