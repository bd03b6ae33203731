"""An extension in a package of its own: a closure, a term, a format of cases and a command."""
