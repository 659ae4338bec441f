"""`python -m mixgrid`: the command where no script of that name is on the path, as in a job on a cluster."""

import sys

if sys.version_info[:2] != (3, 11):  # said before anything is imported that another Python may not read
    found = ".".join(map(str, sys.version_info[:3]))
    sys.stderr.write(f"mixgrid: this node runs Python {found}, mixgrid and its lock are for 3.11: take another image\n")
    sys.exit(2)

from mixgrid.cli import main

if __name__ == "__main__":
    main()
