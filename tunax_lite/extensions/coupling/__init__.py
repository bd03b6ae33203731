"""The column as a component of another program."""
