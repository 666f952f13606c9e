"""The library of solutions and their decision ladders, recall from it, and evidence of what decisions bought.

The files on the shelves are the truth; whatever is kept besides them can be rebuilt. This room judges nothing
and runs no code: numbers come in as Evaluations, or through a session that the caller opens.
"""
