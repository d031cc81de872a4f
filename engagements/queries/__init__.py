"""Reads that span models: the board, what is next, the money, the timeline."""

from engagements.queries.amounts import gross, outstanding, received
from engagements.queries.board import Card, Column, board
from engagements.queries.money import (
    AtRisk,
    milestones_to_bill,
    milestones_unpaid,
    money_at_risk,
    settlements_waiting,
    totals,
)
from engagements.queries.standing import NextStep, Who, next_step, with_standing
from engagements.queries.timeboxes import Progress, time_box_progress
from engagements.queries.timeline import timeline

__all__ = [
    "AtRisk",
    "Card",
    "Column",
    "NextStep",
    "Progress",
    "Who",
    "board",
    "gross",
    "milestones_to_bill",
    "milestones_unpaid",
    "money_at_risk",
    "next_step",
    "outstanding",
    "received",
    "settlements_waiting",
    "time_box_progress",
    "timeline",
    "totals",
    "with_standing",
]
