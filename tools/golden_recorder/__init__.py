"""Records the oracle's answers for tests/golden; see `tools/regen_goldens.py`."""
