"""Tables of how long an optimizer step takes. docs/runtime.md explains the files."""
