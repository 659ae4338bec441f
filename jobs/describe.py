"""Ray entry point: `python jobs/describe.py CORPUS… [--store URL …]` is `mixgrid describe`, started by Ray."""

import sys

from mixgrid.cli import main

if __name__ == "__main__":
    main(["describe", *sys.argv[1:]])
