"""The double-entry ledger: chart of accounts, postings, periods, DATEV export."""
