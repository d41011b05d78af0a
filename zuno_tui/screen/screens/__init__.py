"""The screens of the desk, each imported when it first opens."""
