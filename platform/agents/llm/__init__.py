"""The only way to a language model: providers, ledger, limits, and reading what a model said."""
