"""Changed lines that the tests must notice: `make mutants`."""
