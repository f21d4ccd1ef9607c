"""AutoSurrogate against the best specialist on every problem we know."""
