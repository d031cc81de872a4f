"""Parse bank statements, CAMT.053 and CSV, into plain lines. No Django here."""
