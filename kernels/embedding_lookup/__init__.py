"""Rows of an embedding table by token id, and the table's gradient."""
