"""The names that Gluon shares with Triton. Its layouts and instructions are not there."""
from ...language import *  # noqa: F401,F403


def __getattr__(name):
    raise AttributeError(f"`{name}` of Gluon is not there: kernels in Gluon are not compiled here")
