"""Reads that span models, by what they are read for.

- `amounts`: the gross figures of one milestone.
- `overview`, `board`: where engagements stand, for the people of the house.
- `finance`: what is to be billed, open, at risk, waiting to go back.
- `portal`: an engagement as its customer's people see it.
"""
