"""The ledger: its chart of accounts, and what each business fact is posted as."""
