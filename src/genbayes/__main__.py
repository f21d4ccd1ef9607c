"""`python -m genbayes` is the command `genbayes`."""

from genbayes.cli.main import run

if __name__ == "__main__":
    run()
