"""Damaged model files: small files of every registered class, structure-aware damage, and what became of each case."""
