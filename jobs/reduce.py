"""Ray entry point: `python jobs/reduce.py MANIFEST [--store URL …]` is `mixgrid reduce`, started by Ray."""

import sys

from mixgrid.cli import main

if __name__ == "__main__":
    main(["reduce", *sys.argv[1:]])
