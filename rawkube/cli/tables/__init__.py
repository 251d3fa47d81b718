"""Pure: the commands and their flags, a module a family; `rawkube.cli.commands` finds them by their first word."""
