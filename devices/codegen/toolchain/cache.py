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
PAUSE = 60  # seconds between two looks through the whole directory, by whatever process
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
        self.path = default_directory() if path is None else Path(path)
        reason = unusable(self.path)
        if reason:
            self._leave(reason)

    def _leave(self, reason):
        """Use a temporary directory from here on."""
        self.path = Path(tempfile.mkdtemp(prefix="polyad-"))
        atexit.register(shutil.rmtree, self.path, ignore_errors=True)
        warnings.warn(
            f"compiled code is kept for this process only: {reason}; set POLYAD_CACHE_DIR to a directory of your own",
            RuntimeWarning, stacklevel=3,
        )  # fmt: skip

    def file(self, key):
        """Return the path where the library of a key lies, or would lie."""
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

    def note(self, key):
        """Return what was noted under a key, or None."""
        try:
            return (self.path / f"{key}.note").read_text() or None
        except OSError:
            return None

    def write_note(self, key, text):
        """Note a few words under a key, if the directory can be written."""
        with contextlib.suppress(OSError), tempfile.TemporaryDirectory(prefix="new-", dir=self.path) as folder:
            made = Path(folder) / "note"
            made.write_text(text)
            os.replace(made, self.path / f"{key}.note")

    def empty(self):
        """Return whether no library is there."""
        return next(self.path.glob("*.so"), None) is None

    def build(self, key, make):
        """Have a library made. make: function(path) that writes it there and returns None or a complaint.

        Returns (path, complaint): one of them is None. A directory that was removed is made again, and one that cannot be
        written any more is left, with a warning.
        """
        for _ in range(2):
            try:
                return self._build(key, make)
            except OSError as error:
                reason = unusable(self.path) or f"{self.path} cannot be written ({error.strerror or error})"
        self._leave(reason)
        try:
            return self._build(key, make)
        except OSError as error:
            return None, f"nothing can be written to {self.path} ({error.strerror or error})"

    def _build(self, key, make):
        with tempfile.TemporaryDirectory(prefix="new-", dir=self.path) as folder:
            made = Path(folder) / "library.so"
            complaint = make(made)
            if complaint is not None:
                return None, complaint
            body = made.read_bytes()
            with open(made, "ab") as f:
                f.write(MARK + hashlib.sha256(body).digest())
            os.replace(made, self.file(key))
        if self.due():
            self.trim(keep=self.file(key))
        return self.file(key), None

    def due(self):
        """Return whether nobody has looked through the directory, maybe thousands of files, for a while; if so, note that."""
        looked = self.path / ".looked"
        with contextlib.suppress(OSError):
            if 0 <= time.time() - looked.stat().st_mtime < PAUSE:
                return False
        with contextlib.suppress(OSError):
            looked.touch()
        return True

    def trim(self, keep=None):
        """Remove what was not used for longest until the limit holds, and what was never finished."""
        found, now = [], time.time()
        with os.scandir(self.path) as entries:
            for entry in entries:
                try:
                    facts = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if entry.name.startswith("new-") and now - facts.st_mtime > STALE:
                    shutil.rmtree(entry.path, ignore_errors=True)
                elif entry.name.endswith(".so"):
                    found.append((facts.st_mtime, facts.st_size, entry.path))
        total = sum([n for _, n, _ in found])
        for _, n, path in sorted(found):
            if total <= self.limit:
                break
            if keep is None or path != str(keep):
                Path(path).unlink(missing_ok=True)
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
