"""Models: what every surrogate offers, what only some can, and the one list of them all."""
