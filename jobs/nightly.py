"""Ray entry point: `python jobs/nightly.py MANIFEST [--store URL …]` is `mixgrid nightly`, started by Ray."""

import sys

from mixgrid.cli import main

if __name__ == "__main__":
    main(["nightly", *sys.argv[1:]])
