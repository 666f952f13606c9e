"""Confinement of processes that run a stranger's code: tiers, probing, and the one call that wraps a command.

Owns what a confined process may see, touch and spend. It must not know what runs inside (workers, compilers), judge
anything, or fall back to a lower tier without saying so. Nothing is imported here: the confined side has to start fast.
"""
