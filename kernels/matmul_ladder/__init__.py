"""The matrix product by six rungs, from one thread an element to the library's own speed."""
