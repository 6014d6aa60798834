"""Compiled libraries on disk: a private directory, files named by what they were made of, whole or absent.

A file is a shared library followed by its checksum, written under another name and renamed, so that many processes may use
the directory at once and a damaged file is noticed. Files unused for longest go when the directory grows too large.
"""

import atexit
import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
import warnings
from pathlib import Path

LIMIT = 256 * 2**20  # bytes
STALE = 3600  # seconds after which an unfinished file is nobody's
MARK = b"polyad library 1"


def default_directory():
    """`$POLYAD_CACHE_DIR`, else `polyad` in `$XDG_CACHE_HOME` or `~/.cache`."""
    own = os.environ.get("POLYAD_CACHE_DIR")
    return Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "polyad"


class Cache:
    """Libraries in a directory. path: the directory, made if it is not there. limit: bytes it may hold.

    A directory that cannot be written, or is another user's, is replaced by a temporary one, with one warning.
    """

    def __init__(self, path=None, limit=LIMIT):
        self.limit = limit
        path = default_directory() if path is None else Path(path)
        reason = unusable(path)
        if reason:
            path = Path(tempfile.mkdtemp(prefix="polyad-"))
            atexit.register(shutil.rmtree, path, ignore_errors=True)
            warnings.warn(
                f"compiled code is kept for this process only: {reason}; set POLYAD_CACHE_DIR to a directory of your own",
                RuntimeWarning, stacklevel=2,
            )  # fmt: skip
        self.path = path

    def file(self, key):
        """Where the library of a key lies, or would lie."""
        return self.path / f"{key}.so"

    def find(self, key):
        """The whole library of a key as a path, or None. A damaged one is removed."""
        path = self.file(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        body, sum_ = data[: -len(MARK) - 32], data[-len(MARK) - 32 :]
        if sum_ != MARK + hashlib.sha256(body).digest():
            path.unlink(missing_ok=True)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # used just now
        return path

    def build(self, key, make):
        """Have a library made. make: function(path) that writes it there and returns None or a complaint.

        Returns (path, complaint): one of them is None.
        """
        with tempfile.TemporaryDirectory(prefix="new-", dir=self.path) as folder:
            made = Path(folder) / "library.so"
            complaint = make(made)
            if complaint is not None:
                return None, complaint
            body = made.read_bytes()
            with open(made, "ab") as f:
                f.write(MARK + hashlib.sha256(body).digest())
            os.replace(made, self.file(key))
        self.trim(keep=self.file(key))
        return self.file(key), None

    def trim(self, keep=None):
        """Remove what was not used for longest until the limit holds, and what was never finished."""
        found, now = [], time.time()
        for path in list(self.path.iterdir()):
            try:
                facts = path.lstat()
            except OSError:
                continue
            if path.name.startswith("new-") and now - facts.st_mtime > STALE:
                shutil.rmtree(path, ignore_errors=True)
            elif path.suffix == ".so" and path != keep:
                found.append((facts.st_mtime, facts.st_size, path))
        total = sum(n for _, n, _ in found) + (keep.stat().st_size if keep is not None and keep.exists() else 0)
        for _, n, path in sorted(found):
            if total <= self.limit:
                break
            path.unlink(missing_ok=True)
            total -= n


def unusable(path):
    """Why a directory is not to be used, or None. It is made, for its owner only, if it is not there."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = path.lstat()
        if not stat.S_ISDIR(facts.st_mode):
            return f"{path} is no directory"
        if hasattr(os, "getuid") and facts.st_uid != os.getuid():
            return f"{path} belongs to another user"
        if stat.S_IMODE(facts.st_mode) & 0o077:
            path.chmod(0o700)
        with tempfile.TemporaryFile(dir=path):
            return None
    except OSError as error:
        return f"{path} cannot be used ({error.strerror or error})"
