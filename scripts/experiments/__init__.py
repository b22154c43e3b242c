"""Experiments: many runs that answer one question. docs/experiments.md explains the files."""
