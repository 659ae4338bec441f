"""Ray entry point: `python jobs/generate.py MANIFEST [--store URL …]` is `mixgrid generate`, started by Ray."""

import sys

from mixgrid.cli import main

if __name__ == "__main__":
    main(["generate", *sys.argv[1:]])
