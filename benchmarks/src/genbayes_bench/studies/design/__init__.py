"""Sequential design against random runs and against the deep GP, with learning curves."""
