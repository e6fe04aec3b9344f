"""The command line, a command a module. `program` is where it starts.

Modules of commands import nothing heavy until the command runs, so that help is there at once.
"""
