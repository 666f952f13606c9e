"""Schedules of pipeline candidates: from a reference's graph to an algorithm, and from recipes and rules to schedules.

Never imports toolexec or memory; it needs no halide and no torch: everything here is data about data.
"""
