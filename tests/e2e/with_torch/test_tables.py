"""What `top` says adds up: on a real training, by module, line, operator and thread."""

# mypy: disallow-subclassing-any=False

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import pellucid
from pellucid.analysis import GROUPINGS, top
from pellucid.model import Profile
from with_torch.recordings import line_of, python, record


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(32, 64)
        self.down = nn.Linear(64, 32)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(torch.relu(self.up(x)))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)  # block
        return x


def train(net: Net) -> None:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(30):
        loss = net(torch.randn(16, 32)).square().mean()  # forward
        loss.backward()  # backward
        optimizer.step()


def train_on_threads(first: Net, *others: Net) -> None:
    train(first)
    threads = [
        threading.Thread(target=train, args=(net,), name=f"trainer {i}")
        for i, net in enumerate(others)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.fixture(scope="module")
def profile() -> Profile:
    nets = [Net() for _ in range(3)]
    return record(lambda: train_on_threads(*nets))


@pytest.mark.parametrize("by", GROUPINGS)
def test_the_parts_make_the_whole(profile: Profile, by: str) -> None:
    for fold in True, False:
        table = top(profile, by, limit=None, fold=fold)
        for row in table.rows:
            assert row.forward + row.backward == pytest.approx(row.total)
            assert min(row.forward, row.backward, row.self) >= -1
            assert row.share is not None
            assert 0 <= row.share <= 1 + 1e-9
            assert row.self <= row.total + 1
        own = sum(row.total if by == "thread" else row.self for row in table.rows)
        assert own + table.unassigned == pytest.approx(table.recorded)


def test_each_threads_time_is_what_its_life_took(profile: Profile) -> None:
    rows = {row.name: row for row in top(profile, "thread").rows}
    (this,) = profile.runs
    assert rows["MainThread"].total == pytest.approx(this.wall_ns, rel=0.01)
    assert rows["trainer 0"].total < this.wall_ns
    assert set(rows) == {"MainThread", "trainer 0", "trainer 1"}


def test_layers_have_their_backward(profile: Profile) -> None:
    rows = {(row.name, row.root): row for row in top(profile, "module", limit=None).rows}
    names = {name for name, _ in rows}
    assert {"Net", "blocks.0.up", "blocks.1.down"} <= names
    for row in rows.values():
        assert row.forward > 0
        assert row.backward > 0
        assert row.calls is not None
        assert row.calls_estimated
    assert sum(row.calls or 0 for (name, _), row in rows.items() if name == "blocks.0.up") == 90


def test_the_line_of_the_forward_has_the_backward_and_that_of_backward_the_engine(
    profile: Profile,
) -> None:
    rows = {row.line: row for row in top(profile, "line", limit=None).rows if row.file == __file__}
    forward = rows[line_of(__file__, "forward")]
    backward = rows[line_of(__file__, "backward")]
    assert forward.backward > forward.total / 4
    assert backward.backward > 0
    assert rows[line_of(__file__, "block")].backward > 0


def test_an_operator_counts_once_however_it_is_shown(profile: Profile) -> None:
    rows = {row.name: row for row in top(profile, "operator", limit=None).rows}
    assert rows["aten::addmm"].calls == rows["AddmmBackward0"].calls == 3 * 30 * 4
    assert rows["aten::addmm"].backward > 0


def test_the_command_line_says_the_same(profile: Profile, tmp_path: Path) -> None:
    with pellucid.profile() as prof:
        train(Net())
    prof.save(tmp_path / "x.pellucid")
    ended = python(tmp_path, "-m", "pellucid", "top", "x.pellucid", "--by", "module", "--json")
    assert ended.status == 0, ended.stderr
    text = json.dumps(json.loads(ended.stdout))
    for row in top(prof.profile, "module").rows:
        assert json.dumps(row.name) in text
    assert len(profile) > 0
