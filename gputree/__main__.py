"""`python -m gputree` is the command `gputree`."""

import sys

from gputree.cli.program import main

if __name__ == "__main__":
    sys.exit(main())
