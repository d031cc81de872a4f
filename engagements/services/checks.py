"""The six checks of an audit, computed from its evidence and its answers.

Computed as often as one likes: the same evidence gives the same findings and changes nothing.
What was computed leads; a person's word counts where the computation says unknown.
"""

from __future__ import annotations
