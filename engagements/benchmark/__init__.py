"""A customer's own benchmark: uploaded as a folder, checked, reviewed by both sides, sealed."""
