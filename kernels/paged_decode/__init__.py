"""Decode attention over a paged FP8 cache, with a length and a page table for each sequence."""
