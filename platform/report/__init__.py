"""How results look: run pages, plots, and the rows and sentences that the terminal shares with them.

This package turns records into text and pictures. It opens no run folder, measures nothing and prints nothing; what
strangers wrote is escaped on its way through.
"""
