"""Measurements of what the library does where responses jump."""
