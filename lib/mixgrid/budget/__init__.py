"""A budget is a ledger: reserve the worst case, send, settle what was billed; the sum never passes a cap."""
