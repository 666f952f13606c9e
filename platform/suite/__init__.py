"""Many tasks as one experiment: plans, samples in processes of their own, rows, statistics, exports."""
