"""Counting what a C++ kernel does: simulated caches, the processor's own counters, the vectoriser's words, threads."""
