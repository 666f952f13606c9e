"""The judge's side of the border: it starts workers, fills inputs, holds the clock, compares and gives the verdict.

Runs no stranger's code. Everything here is in the calling process; what runs elsewhere lies in toolexec/workers/.
"""
