"""Runs the generator: `python3 tools/make_profile SCENARIO --out LOGDIR …`."""
import os
import sys

if not __package__:     # started by its folder: the package is found beside it
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from make_profile.command_line import main

sys.exit(main())
