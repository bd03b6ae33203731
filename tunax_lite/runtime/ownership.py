"""Files and folders that only this user, or the administrator, could have written.

What runs code, or leads to a process that does, is used only from such a place.
"""

import os
import stat
from pathlib import Path

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
OTHERS_READ = stat.S_IRGRP | stat.S_IROTH


def trusted_users() -> set[int]:
    """This user and the administrator, who has another number in some containers."""
    return {os.getuid(), 0, os.stat("/").st_uid}


def check_owned(path: Path, what: str, advice: str) -> None:
    """Raise `PermissionError` unless only trusted users control a path, absolute and existing.

    `what` names its kind, as in "a folder for compiled programs"; `advice` says what to do instead. Links are
    not followed: give both the path and what it resolves to.
    """
    if os.name != "posix":
        return

    def refused(got: str, remedy: str) -> PermissionError:
        return PermissionError(f"{path}: expected {what}, got {got}; {remedy}.")

    trusted = trusted_users()
    for place in (path, *path.parents):
        found = os.lstat(place)
        shared = 0 if stat.S_ISLNK(found.st_mode) else found.st_mode & OTHERS_WRITE
        if place != path and found.st_mode & stat.S_ISVTX:
            shared = 0  # as in /tmp: others cannot rename foreign files
        if found.st_uid not in trusted:
            raise refused(f"a path through {place}, which belongs to another user", advice)
        if shared:
            into = " into" if stat.S_ISDIR(found.st_mode) else ""
            one = "one" if place == path else f"a path through {place},"
            raise refused(
                f"{one} that other users can write{into}: they could make this process run any code",
                f"take that right from them (chmod go-w {place}) if you trust what is there, or {advice}",
            )
