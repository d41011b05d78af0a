"""Pure numbers are judged by what they are, not by how busy the machine was."""

from hypothesis import settings

settings.register_profile("numbers", deadline=None)
settings.load_profile("numbers")
