"""The cases, a module for each file of vectors."""
