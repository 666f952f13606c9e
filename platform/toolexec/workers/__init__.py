"""What runs outside the judge: the loop that serves it, the kernels' border and the reference.

Files here run in worker processes. They never hold expected values of a candidate's judgement, statistics or seeds of
the judge; they must not import the judge's side.
"""
