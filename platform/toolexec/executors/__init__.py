"""Where judging sessions are opened; the table of their names is in wiring.py."""
