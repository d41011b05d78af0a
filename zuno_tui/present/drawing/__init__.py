"""Figures drawn as lines of text; pure, so that a test can read what a person would see."""
