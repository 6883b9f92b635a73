"""A small hand-made profile in which every number is known.

Main
  train.py:3 <module>                                     time   1 ms
    train.py:10 train                                     time   2
      [Net]  module, calls 4                              time   3
        net.py:5 forward                                  time   4
          [fc1] module Linear
            site-packages/torch/.../module.py call        time   5   (internal)
              aten::linear   4 calls                      time  10
                aten::addmm  4 calls                      time  20
          [fc2] module Linear
            aten::linear     4 calls                      time   6
          aten::relu         4 calls                      time   7
    train.py:11 train                                     time   8
      AddmmBackward0 → fc1's aten::addmm   4 calls        time   9
        aten::mm             8 calls                      time  30
pt_autograd_0
  ReluBackward0 → aten::relu                              time  11
"""

from pellucid.model import Profile, ProfileBuilder, Stat

__all__ = ["MS", "TORCH", "handmade_profile"]

MS = 1_000_000
TORCH = "/venv/lib/python3.11/site-packages/torch/nn/modules/module.py"


class Maker:
    """Short hands for the profile below."""

    def __init__(self) -> None:
        self.builder = ProfileBuilder()
        self.builder.run(host="box", pid=7, wall_ns=200 * MS, threads=2, ended="exit 0")

    def python(self, parent: int, file: str, line: int, name: str, ms: int) -> int:
        frame = self.builder.frame("python", name, file=file, line=line, first_line=1)
        return self._node(parent, frame, ms)

    def module(self, parent: int, name: str, cls: str, ms: int = 0) -> int:
        frame = self.builder.frame("module", name, attrs={"class": cls})
        return self._node(parent, frame, ms)

    def operator(self, parent: int, name: str, calls: int, ms: int) -> int:
        node = self._node(parent, self.builder.frame("operator", name), ms)
        self.builder.stat(node, "duration", Stat(calls, calls * MS, MS, MS, 0))
        return node

    def thread(self, name: str) -> int:
        return self.builder.node(None, self.builder.frame("thread", name))

    def _node(self, parent: int, frame: int, ms: int) -> int:
        node = self.builder.node(parent, frame)
        if ms:
            self.builder.stat(node, "time", Stat(1, ms * MS, ms * MS, ms * MS, 0))
        return node


def handmade_profile() -> Profile:
    """The profile drawn above."""
    make = Maker()
    main = make.thread("Main")
    module = make.python(main, "/w/train.py", 3, "<module>", 1)
    train = make.python(module, "/w/train.py", 10, "train", 2)
    net = make.module(train, "Net", "Net", 3)
    forward = make.python(net, "/w/net.py", 5, "forward", 4)
    fc1 = make.module(forward, "fc1", "Linear")
    call = make.python(fc1, TORCH, 1, "_call_impl", 5)
    addmm = make.operator(make.operator(call, "aten::linear", 4, 10), "aten::addmm", 4, 20)
    make.operator(make.module(forward, "fc2", "Linear"), "aten::linear", 4, 6)
    relu = make.operator(forward, "aten::relu", 4, 7)
    backward = make.python(module, "/w/train.py", 11, "train", 8)
    addmm_backward = make.operator(backward, "AddmmBackward0", 4, 9)
    make.operator(addmm_backward, "aten::mm", 8, 30)
    relu_backward = make.operator(make.thread("pt_autograd_0"), "ReluBackward0", 4, 11)
    builder = make.builder
    builder.edge("backward_of", addmm_backward, addmm)
    builder.edge("backward_of", relu_backward, relu)
    builder.source("/w/train.py", "\n" * 9 + "    loss = net(x)\n    loss.backward()\n")
    builder.meta.update(folder="/w", command="train.py --epochs 1", python="3.11.4")
    for idx, duration in enumerate((10, 20, 30, 40)):
        builder.step(1, idx, "step", idx * 50 * MS, duration * MS)
    function = builder.compile_entry("function", "Net.forward", file="/w/net.py", line=4)
    attempt = builder.compile_entry(
        "attempt", "0/0", parent=function, status="ok", duration_ns=5 * MS, detail={"guards": 2}
    )
    graph = builder.compile_entry("graph", "forward", parent=attempt)
    code = builder.artifact(
        "inductor_output_code",
        "forward",
        "cpp_fused_relu_0(a)\0\udc80",
        compile=graph,
        origin="g.py",
    )
    builder.link(artifact=code, compile=graph, line=1, end_line=1, file="/w/net.py", source_line=5)
    builder.link(node=relu)
    builder.loss("late_end", 3, "3 operators ended after the recording")
    return builder.finish()
