"""What `tools/freeze.py` computes: one file for each kind of item."""
