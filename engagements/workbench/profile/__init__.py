"""The consultant's workbench: the evidence, the operator under audit, and the six findings."""
