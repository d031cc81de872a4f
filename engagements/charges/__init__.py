"""Charges: amounts beside the fee, each billed by an invoice of its own."""
