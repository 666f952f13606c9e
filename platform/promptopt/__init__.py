"""promptopt: lessons with evidence, distillation, prompt versions and their optimization. The README says how."""
