"""Which judge this is: the number that every measurement carries, so that figures of an older one can be told apart.

Owns the number and what each one changed. Raise it when the same kernel on the same machine would be given another
time, ratio or verdict than before: another way to time, other baselines, tighter tolerances (wider ones
change no figure of what passed before). Not for speed, words, or
attacks that no honest kernel notices. What an older judge measured turns stale by it, and cached baselines are
measured anew.
"""

JUDGE_VERSION = 3
"""1: baselines run without gradients, on the candidate's cores, and the best one in every round (2026-11-30).
2: a torch module whose best baseline is a C kernel is no longer charged for the copy of its outputs (tens of
microseconds a call); short calls are charged what only calls on their own show (2026-11-30).
3: inputs and outputs of all contestants are read back, all make the correctness calls that the candidate makes, and who
is brought up first changes from pair to pair. Each gave the candidate's role 2 to 10 % where calls wait for memory
(2026-11-30). What calls on their own show is charged up to the double of a call before it accuses (2026-12-01). Plain
sums of thousands of terms, refused by luck now and then, pass (2026-12-01); no figure changed by it."""
