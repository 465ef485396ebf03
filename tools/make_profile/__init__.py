"""A seeded generator of realistic XSpace profiles; see `command_line`."""
