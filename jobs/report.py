"""Ray entry point: `python jobs/report.py MANIFEST [--store URL …]` is `mixgrid report`, started by Ray."""

import sys

from mixgrid.cli import main

if __name__ == "__main__":
    main(["report", *sys.argv[1:]])
