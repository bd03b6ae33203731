"""Hostile inputs and faults: what comes of damaged files, absurd configurations, odd file systems and faults.

An attack prepares a folder and a command; the outcome is judged by rules that hold for every command: an
exit code that is documented, one message of at most a screen that names the file or the key, no traceback,
no hang, inputs as they were, nothing left over, no result that is not finite or cannot be water.
"""
