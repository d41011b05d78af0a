"""Envelopes between agents, their record and its replay; knows no flow."""
