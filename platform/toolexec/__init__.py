"""The judge and its workers, languages, devices, executors, numerics and timing.

Owns how a candidate is built, run, proved right and timed. It must not decide what to try next, read the library, or
run a stranger's code in the judge's process. Nothing is imported here: workers start by importing this package.
"""
