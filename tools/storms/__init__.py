"""Campaigns under fire: what strikes them, how they are run meanwhile, and what must be true afterwards."""
