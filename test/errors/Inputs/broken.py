# Imported by import_of_broken_file.py.
BLOCK = (8
