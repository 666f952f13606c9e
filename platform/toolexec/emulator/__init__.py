"""CUDA on the CPU: correctness without a GPU. See README.md for how data flows through this folder."""
