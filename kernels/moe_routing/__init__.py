"""A mixture of experts: every token goes to a few of many small MLPs."""
