"""What a model as Scout may look up before it speaks: read-only, each answer on the record."""
