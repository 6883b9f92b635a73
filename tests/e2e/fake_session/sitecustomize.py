"""Puts a session that records nothing in the place of the real one.

On ``PYTHONPATH`` of a launched program, so that everything else is the launcher as it ships. The
file it saves tells how the program ended and what it had appended to ``events.txt`` by then.
"""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace


class Session:
    def __init__(self, modules: bool) -> None:
        self.modules = modules
        self.ended = ""

    def start(self) -> None:
        if "--refuse-to-start" in sys.argv:
            raise RuntimeError("the fake session was asked not to")

    def stop(self, ended: str) -> "Profile":
        self.ended = ended
        return Profile()

    def save(self, path: str) -> None:
        file = Path(path)
        events = file.with_name("events.txt")
        seen = events.read_text().split() if events.exists() else []
        file.write_text(json.dumps({"ended": self.ended, "modules": self.modules, "events": seen}))


class Profile:
    runs = (SimpleNamespace(wall_ns=12_340_000_000),)

    def __len__(self) -> int:
        return 1024


def _nothing(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda *_: None


sys.modules["pellucid.capture.session"] = ModuleType("pellucid.capture.session")
sys.modules["pellucid.capture.session"].__dict__.update(Session=Session)
sys.modules["pellucid._core"] = ModuleType("pellucid._core")
sys.modules["pellucid._core"].__dict__.update(__getattr__=_nothing)
