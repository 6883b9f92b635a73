"""Building the torch bridge, once for each torch, in a cache folder that nobody else can write to.

Nothing here needs the native core: ``pellucid doctor`` asks here where that is broken.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pellucid.errors import BridgeError, CompilerMissing

__all__ = ["COMPILERS", "Torch", "build_folder", "cache_folder", "find_compiler", "find_or_build"]

_DIGEST_SIZE = hashlib.sha256().digest_size
_SOURCES = Path(__file__).parent
COMPILERS = ("g++", "c++", "clang++")


class Torch(NamedTuple):
    """What the bridge has to know of a torch installation."""

    folder: Path
    version: str
    git_version: str
    cxx11_abi: bool

    @classmethod
    def imported(cls) -> Torch:
        torch = sys.modules["torch"]
        return cls(
            folder=Path(str(torch.__file__)).parent,
            version=str(torch.__version__),
            git_version=str(torch.version.git_version),
            cxx11_abi=bool(torch._C._GLIBCXX_USE_CXX11_ABI),
        )

    def flags(self) -> list[str]:
        library = str(self.folder / "lib")
        return [
            "-O2",
            "-std=c++20",
            "-shared",
            "-fPIC",
            "-fvisibility=hidden",
            f"-D_GLIBCXX_USE_CXX11_ABI={int(self.cxx11_abi)}",
            f"-I{self.folder / 'include'}",
            f"-L{library}",
            f"-Wl,-rpath,{library}",
            "-ltorch_cpu",
            "-lc10",
        ]

    def key(self) -> str:
        """Names everything that the binary depends on, but for the compiler."""
        digest = hashlib.sha256()
        for source in sorted([*_SOURCES.glob("*.cpp"), *_SOURCES.glob("*.h")]):
            digest.update(source.read_bytes())
        for part in (self.version, self.git_version, platform.machine(), *self.flags()):
            digest.update(part.encode() + b"\0")
        return digest.hexdigest()[:24]


def find_compiler() -> list[str] | None:
    """The C++ compiler's command: ``$CXX``, else the first that there is."""
    chosen = shlex.split(os.environ.get("CXX", ""))
    for command in [chosen] if chosen else [[name] for name in COMPILERS]:
        if path := shutil.which(command[0]):
            return [path, *command[1:]]
    return None


def cache_folder() -> Path:
    """Our folder in the user's cache: ours alone, made when missing.

    Raises :class:`BridgeError` where it is a link, another user's, or others may write to it:
    what lies there gets loaded into the process.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        root = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
        folder = root / "pellucid"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except (OSError, RuntimeError) as error:
        raise BridgeError(f"there can be no cache folder: {error}; set XDG_CACHE_HOME") from error
    if not stat.S_ISDIR(status.st_mode):
        raise BridgeError(f"the cache folder {folder} is not a folder: remove it")
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise BridgeError(f"the cache folder {folder} is open to others: chmod 700 it or remove it")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BridgeError(f"the cache folder {folder} cannot be written to: set XDG_CACHE_HOME")
    return folder


@contextmanager
def build_folder() -> Iterator[Path]:
    """The cache folder, locked; where it is not to be trusted, a private one for now."""
    try:
        folder = cache_folder()
    except BridgeError:
        with tempfile.TemporaryDirectory(prefix="pellucid-") as temporary:
            yield Path(temporary)
        return
    descriptor = os.open(folder / "lock", os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(descriptor)


def find_or_build(torch: Torch, folder: Path) -> tuple[Path, str]:
    """The bridge's path and the key that it must give back once loaded."""
    compiler = find_compiler()
    stem = f"torch-{torch.version}-{torch.key()}-"
    if compiler is None:
        # Whichever compiler made it, it was made for this very torch.
        for path in sorted(folder.glob(f"{stem}*.so")):
            if _is_as_built(path):
                return path, path.stem
        raise CompilerMissing(
            "no C++ compiler was found to build the bridge to torch with, once; install g++ "
            "(Debian: apt-get install g++) or set CXX. The run goes on without torch's operators"
        )
    key = stem + _compiler_key(compiler)
    path = folder / f"{key}.so"
    if not _is_as_built(path):
        _build(torch, compiler, key, path)
    return path, key


def _compiler_key(compiler: list[str]) -> str:
    """The same for the same compiler, found by where it is and when it was put there."""
    status = Path(compiler[0]).stat()
    identity = f"{compiler} {Path(compiler[0]).resolve()} {status.st_size} {status.st_mtime_ns}"
    return hashlib.sha256(identity.encode()).hexdigest()[:8]


def _is_as_built(path: Path) -> bool:
    """Whether the file is there, ours alone to write, and whole: loading a part of one crashes."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        return False
    data = path.read_bytes()
    return data[-_DIGEST_SIZE:] == _digest(data[:-_DIGEST_SIZE])


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _build(torch: Torch, compiler: list[str], key: str, target: Path) -> None:
    """Compile in a fresh folder of our own, then publish by renaming."""
    print(
        f"pellucid: building the bridge to torch {torch.version}, once (about 5 s) ...",
        file=sys.stderr,
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="build-", dir=target.parent) as folder:
        built = Path(folder) / target.name
        command = [
            *compiler,
            str(_SOURCES / "torch_bridge.cpp"),
            f'-DPELLUCID_BRIDGE_KEY="{key}"',
            "-o",
            str(built),
            *torch.flags(),
        ]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        )
        if done.returncode != 0:
            raise BridgeError(_compiler_said(compiler[0], done.stderr))
        digest = _digest(built.read_bytes())
        with built.open("ab") as file:
            file.write(digest)  # after the end, where no loader looks
        built.chmod(0o700)
        built.replace(target)


def _compiler_said(compiler: str, output: str) -> str:
    errors = [line for line in output.splitlines() if "error" in line]
    first = (errors or output.splitlines() or ["nothing"])[0]
    return f"{compiler} could not build the bridge to torch: {first.strip()}"
