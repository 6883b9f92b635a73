"""Where each of the core's nodes stands in the profile.

Most stay where they are. Modules get their names; what torch.compile made is shown as the program
that it was made from: below a graph come the user's own lines and modules, then the kernels.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pellucid.capture.module_names import ModuleName
from pellucid.capture.recompute import recomputed
from pellucid.compiler import CallSite, Compiled, Step, resumed
from pellucid.model import EdgeKind, FrameKind, ProfileBuilder

__all__ = ["CoreFrame", "Layout"]

CoreFrame = tuple[str, str, str, int, int]  # kind, name, file, line, first line

_REGION = "Torch-Compiled Region: "
_COSTS = {
    "TorchDynamo Cache Lookup": "guard evaluation",
    "CompiledFunction": "AOT wrapper",
    "CompiledFunctionBackward": "AOT wrapper",
}
_ROOT = re.compile(r"[A-Za-z_]\w*(?:\['[^']*'\])?")
_SUBMODULE = re.compile(r"_modules\['([^']*)'\]|\[(\d+)\]")


@dataclass(frozen=True)
class _Around:
    """What a node is inside of."""

    root: str = ""  # of the innermost module
    module: str = ""  # its path
    graph: int = -1  # the innermost graph, a planned node
    backward: int = 0  # the innermost backward function, a node of the core
    site: CallSite | None = None  # the kernel call, if the node's own frame is generated code
    generated: bool = False


class Layout:
    """The nodes of one recording, planned and then built: only what carries numbers is kept.

    Without ``names`` there are no modules.
    """

    def __init__(
        self,
        builder: ProfileBuilder,
        frames: Sequence[CoreFrame],
        parent: Sequence[int],
        frame: Sequence[int],
        origin: Sequence[int],
        *,
        names: Mapping[int, ModuleName] | None,
        compiled: Compiled,
        generated: set[str],
    ) -> None:
        self._builder = builder
        self._frames = frames
        self._parent = parent
        self._frame = frame
        self._origin = origin
        self._names = names
        self._compiled = compiled
        self._generated = generated
        self._plan = _Plan()
        self._plain: dict[int, int] = {}
        self._planned = array("q", [-1]) * len(parent)
        self._around = [_Around()] * len(parent)
        self._calls: dict[int, int] = {}  # an operator called by generated code → its kernel
        self._sites: list[tuple[int, CallSite]] = []
        self._edges: dict[tuple[EdgeKind, int, int], None] = {}
        self._unnamed: set[int] = set()

    @property
    def unnamed(self) -> int:
        """How many modules have no name but their class."""
        return len(self._unnamed)

    def build(self, has_numbers: Sequence[bool]) -> list[int]:
        """Add the nodes; gives for each of the core's its id, -1 for what is not kept."""
        for node in range(1, len(self._parent)):
            self._place(node)
        for src, dst in recomputed(self._frames, self._parent, self._frame, self._origin):
            self._edge(EdgeKind.RECOMPUTE_OF, self._planned[src], self._planned[dst])
        for node in range(1, len(self._parent)):
            if has_numbers[node] or self._frames[self._frame[node]][0] != FrameKind.PYTHON:
                self._plan.need(self._planned[node])
        for _, src, dst in self._edges:
            if self._plan.needed[src]:
                self._plan.need(dst)
        ids = self._plan.build(self._builder)
        for kind, src, dst in self._edges:
            if ids[src] >= 0 and ids[dst] >= 0:
                self._builder.edge(kind, ids[src], ids[dst])
        self._calls = {node: ids[kernel] for node, kernel in self._calls.items()}
        self._sites = [(ids[kernel], site) for kernel, site in self._sites]
        return [ids[planned] if planned >= 0 else -1 for planned in self._planned]

    @property
    def kernel_of(self) -> dict[int, int]:
        """Operators of the core that generated code calls → the kernel node above each."""
        return self._calls

    def link_kernels(self) -> None:
        """Link the kernel nodes to the lines that they came from."""
        for node, site in self._sites:
            places: list[tuple[str | None, int | None]] = [*site.lines]
            for file, line in places or [(None, None)]:
                self._builder.link(
                    artifact=site.artifact,
                    compile=site.entry,
                    line=site.call.line if site.call else None,
                    end_line=site.call.end_line if site.call else None,
                    file=file,
                    source_line=line,
                    node=node,
                )

    def files(self) -> list[str]:
        """The source files of the nodes' frames."""
        files = {self._frames[frame][2] for frame in self._plain} - {""}
        return sorted(files - self._generated)

    def _place(self, node: int) -> None:
        frame = self._frame[node]
        kind = self._frames[frame][0]
        above = self._parent[node]
        around = self._around[above]
        if self._origin[node]:
            around = replace(around, backward=node)
        parent = self._planned[above]
        if kind == FrameKind.MODULE:
            self._place_module(node, parent, around)
        elif kind == FrameKind.OPERATOR:
            self._place_operator(node, parent, around)
        elif kind == FrameKind.KERNEL:
            self._place_kernel(node, parent, around)
        elif kind == FrameKind.PYTHON and self._frames[frame][2] in self._generated:
            self._place_generated(node, parent, around)
        else:
            self._put(node, parent, self._plain_frame(frame), replace(around, generated=False))

    def _put(self, node: int, parent: int, frame: int, around: _Around) -> int:
        origin = self._planned[self._origin[node]] if self._origin[node] else -1
        planned = self._planned[node] = self._plan.node(parent, frame, origin)
        if origin >= 0:
            self._edge(EdgeKind.BACKWARD_OF, planned, origin)
        self._around[node] = around
        return planned

    def _edge(self, kind: EdgeKind, src: int, dst: int) -> None:
        self._edges[kind, src, dst] = None

    # Modules

    def _place_module(self, node: int, parent: int, around: _Around) -> None:
        frame = self._frame[node]
        name = self._names.get(frame) if self._names is not None else None
        if self._names is None or (name is not None and name.is_wrapper):
            self._planned[node], self._around[node] = parent, around
        elif name is None:
            self._unnamed.add(frame)
            self._put(node, parent, self._plain_frame(frame), replace(around, generated=False))
        else:
            path = name.path_below(around.module if around.root == name.root else "")
            attrs: dict[str, object] = {"class": name.class_name, "root": name.root}
            if len(name.paths) > 1:
                attrs["aliases"] = [alias for alias in name.paths if alias != path]
            id = self._module_frame(path, name.class_name, attrs)
            inside = replace(around, root=name.root, module=path, generated=False)
            self._put(node, parent, id, inside)

    def _module_frame(self, path: str, cls: str, attrs: Mapping[str, object]) -> int:
        shown = path or cls.rpartition(".")[2]
        return self._builder.frame(FrameKind.MODULE, shown, attrs=attrs)

    # Compiled code

    def _place_operator(self, node: int, parent: int, around: _Around) -> None:
        name = self._frames[self._frame[node]][1]
        inside = replace(around, generated=False, site=None)
        if name.startswith(_REGION):
            graph = self._put(node, parent, self._graph_frame(name[len(_REGION) :]), inside)
            self._around[node] = replace(inside, graph=graph)
            return
        if around.generated and around.site is not None and around.site.call is not None:
            parent = self._calls[node] = self._kernel(parent, around.site.call.kernel, around)
        cost = _COSTS.get(name)
        frame = (
            self._builder.frame(FrameKind.OPERATOR, name, attrs={"cost": cost})
            if cost
            else self._plain_frame(self._frame[node])
        )
        self._put(node, parent, frame, inside)

    def _place_kernel(self, node: int, parent: int, around: _Around) -> None:
        self._planned[node] = self._kernel(parent, self._frames[self._frame[node]][1], around)
        self._around[node] = replace(around, generated=False, site=None)

    def _kernel(self, parent: int, name: str, around: _Around) -> int:
        """A kernel of generated code, led back to the lines it came from."""
        site = around.site
        if site is None:
            return self._plan.node(parent, self._builder.frame(FrameKind.KERNEL, name))
        attrs = {
            "compile_id": site.attempt.id.name,
            "function": site.function.label,
            "graph": site.graph.direction,
        }
        if site.call is not None:
            attrs["kind"] = site.call.kind
        kernel = self._plan.node(parent, self._builder.frame(FrameKind.KERNEL, name, attrs=attrs))
        self._sites.append((kernel, site))
        if site.graph.direction == "backward" and around.backward:
            forward = self._around[self._origin[around.backward]]
            if forward.graph >= 0:
                target = self._path(forward.graph, site, forward)
                self._edge(EdgeKind.BACKWARD_OF, kernel, target)
        return kernel

    def _place_generated(self, node: int, parent: int, around: _Around) -> None:
        """A frame of generated code: below its graph and the lines that it stands for."""
        _, name, file, line, first_line = self._frames[self._frame[node]]
        site = self._compiled.site(file, line)
        frame = self._builder.frame(
            FrameKind.PYTHON,
            name,
            file=file,
            line=line,
            first_line=first_line or None,
            attrs={"generated": True},
        )
        inside = replace(around, site=site, generated=True)
        if site is not None and site.graph.direction != "backward" and around.graph >= 0:
            parent = self._path(around.graph, site, around)
        elif site is not None and not around.generated and around.graph < 0:
            graph = self._graph_frame(site.attempt.id.compilation, site.graph.direction)
            parent = self._plan.node(parent, graph)
        self._put(node, parent, frame, inside)

    def _path(self, graph: int, site: CallSite, around: _Around) -> int:
        """The node below ``graph`` for the way that all operations of a call share."""
        node = graph
        for step in site.path:
            frame = (
                self._line_frame(step)
                if step.kind == "python"
                else self._inner_module(step, site, around)
            )
            if frame is not None:
                node = self._plan.node(node, frame)
        return node

    def _line_frame(self, step: Step) -> int:
        first_line = step.first_line
        if step.file and step.name:
            first_line = self._compiled.first_line(step.file, step.name) or first_line
        return self._builder.frame(
            FrameKind.PYTHON, step.name, file=step.file, line=step.line, first_line=first_line
        )

    def _inner_module(self, step: Step, site: CallSite, around: _Around) -> int | None:
        """A module inside a graph, named as it is outside; None: the graph is inside it anyway."""
        if self._names is None:
            return None
        variable, path = _module_path(step.name)
        cls = step.cls or ""
        root = around.root
        if root and variable == f"L['{self._compiled.self_name(site.function)}']":
            if not path:
                return None
            path = f"{around.module}.{path}" if around.module else path
        else:
            tops = (s for s in site.path if s.kind == "module" and not _module_path(s.name)[1])
            top = next((s.cls for s in tops if s.name == variable), None)
            root = (top or variable).rpartition(".")[2]
        return self._module_frame(path, cls, {"class": cls, "root": root})

    def _graph_frame(self, compile_id: str, direction: str = "") -> int:
        function = self._compiled.function(compile_id)
        attrs: dict[str, object] = {"compile_id": compile_id}
        name = compile_id
        if function is not None:
            name = f"{function} [{compile_id}]"
            attrs["function"] = function
        if direction == "backward":
            name += " backward"
            attrs["graph"] = direction
        return self._builder.frame(FrameKind.GRAPH, name, attrs=attrs)

    def _plain_frame(self, frame: int) -> int:
        known = self._plain.get(frame)
        if known is None:
            kind, name, file, line, first_line = self._frames[frame]
            if kind == FrameKind.PYTHON:
                name, since = resumed(name)
                if since is not None:
                    first_line = self._compiled.first_line(file, name) or first_line
            known = self._plain[frame] = self._builder.frame(
                kind, name, file=file or None, line=line or None, first_line=first_line or None
            )
        return known


class _Plan:
    """Nodes by parent, frame and origin; those that are needed are built."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, int], int] = {}
        self._nodes: list[tuple[int, int]] = []
        self.needed = bytearray()

    def node(self, parent: int, frame: int, origin: int = -1) -> int:
        key = parent, frame, origin
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = len(self._nodes)
            self._nodes.append((parent, frame))
            self.needed.append(0)
        return known

    def need(self, node: int) -> None:
        """Keep a node and all above it."""
        while node >= 0 and not self.needed[node]:
            self.needed[node] = 1
            node = self._nodes[node][0]

    def build(self, builder: ProfileBuilder) -> list[int]:
        ids = [-1] * len(self._nodes)
        for node, (parent, frame) in enumerate(self._nodes):
            if self.needed[node]:
                ids[node] = builder.node(ids[parent] if parent >= 0 else None, frame)
        return ids


def _module_path(source: str) -> tuple[str, str]:
    """How Dynamo reaches a module, as the variable and the path below it."""
    match = _ROOT.match(source)
    if match is None:
        return source, ""
    rest = source[match.end() :]
    _, closure, inner = rest.rpartition("cell_contents")
    rest = _SUBMODULE.sub(lambda m: f".{m[1] or m[2]}", inner if closure else rest)
    return match[0], re.sub(r"\.+", ".", rest).strip(".")
