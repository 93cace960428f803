"""A package whose folders below have no `__init__.py` of their own."""
