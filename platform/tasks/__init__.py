"""Task loaders: file -> Task. They parse; they never execute a stranger's code."""

from kernelwright.tasks.loading import Roots, find_task, list_tasks, load_path, standard_roots
from kernelwright.tasks.source import module_constants, parse_overrides, parse_value, with_overrides

__all__ = [
    "Roots",
    "find_task",
    "list_tasks",
    "load_path",
    "module_constants",
    "parse_overrides",
    "parse_value",
    "standard_roots",
    "with_overrides",
]
