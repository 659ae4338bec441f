"""Ray entry point: `python jobs/predict.py MANIFEST [--store URL …]` is `mixgrid run`, started by Ray."""

import sys

from mixgrid.cli import main

if __name__ == "__main__":
    main(["run", *sys.argv[1:]])
