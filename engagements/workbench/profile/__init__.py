"""The consultant's workbench: what the evidence says, the operator under audit, six findings."""
