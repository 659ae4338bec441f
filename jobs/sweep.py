"""Ray entry point: `python jobs/sweep.py MANIFEST [--budget-usd N …]` is `mixgrid sweep`, started by Ray."""

import sys

from mixgrid.cli import main

if __name__ == "__main__":
    main(["sweep", *sys.argv[1:]])
