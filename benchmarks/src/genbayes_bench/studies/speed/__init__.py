"""Speed and accuracy of the core, measured against its targets: `make bench-speed`."""
