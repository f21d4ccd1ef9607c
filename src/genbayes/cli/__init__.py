"""The command line: one thin file per command; the work is done by the folders below."""
