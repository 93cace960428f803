class TritonError(Exception):
    """The base of all errors of the language."""
