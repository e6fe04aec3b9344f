"""The command line, one module per command. `program` is where it starts.

Modules of commands import nothing heavy until the command runs, so that help is there at once.
"""
