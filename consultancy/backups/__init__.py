"""Backup, restore and proof of the database and the stored files."""
