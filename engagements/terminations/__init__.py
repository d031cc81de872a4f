"""Terminations: a contract that ends before its verdict, and what that makes due."""
