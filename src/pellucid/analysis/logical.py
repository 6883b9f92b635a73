"""The tree as the program means it: backward work below the forward that it belongs to."""

from array import array

from pellucid.model import EdgeKind, Forest, Frame, FrameKind, Profile

__all__ = ["LogicalTree"]

_HANGS_BELOW = (EdgeKind.BACKWARD_OF, EdgeKind.RECOMPUTE_OF)
_ENGINE = "autograd::engine::evaluate_function: "
_VISITING, _DONE = 1, 2


class LogicalTree:
    """A profile's nodes, with backward functions and recomputed operators moved.

    Such a node has an edge to its forward (the original) and hangs below that one instead of below
    whoever called ``backward()``. So "all that is below a line" means its forward *and* backward,
    each node once, also for double backward and recomputation. A node's first edge counts; edges
    that would close a circle are not followed, the node then stays where it ran.

    ``in_backward[node]`` is 1 for all that ran inside a moved node or inside autograd's engine. The
    engine's own nodes have no forward: they stay below the line that called ``backward()``.
    """

    def __init__(self, profile: Profile) -> None:
        moves: dict[int, int] = {}
        for edge in profile.edges:
            if edge.kind in _HANGS_BELOW:
                moves.setdefault(edge.src, edge.dst)
        owners = _owners(profile, moves)
        self.parents = array("q", profile.parents)
        for node, above in _without_circles(profile, moves, owners).items():
            self.parents[node] = above
        self.forest = Forest(self.parents)
        self.in_backward = _in_backward(profile, moves)


def _in_backward(profile: Profile, moves: dict[int, int]) -> bytearray:
    is_engine = [_is_engine(frame) for frame in profile.frames]
    inside = bytearray(len(profile))
    for node, parent in enumerate(profile.parents):
        inside[node] = (
            node in moves or is_engine[profile.frame_ids[node]] or (parent >= 0 and inside[parent])
        )
    return inside


def _is_engine(frame: Frame) -> bool:
    return frame.kind is FrameKind.OPERATOR and frame.name.startswith(_ENGINE)


def _owners(profile: Profile, moves: dict[int, int]) -> list[int]:
    """For each node the nearest moved node at or above it, where it ran; -1 without one."""
    owners: list[int] = []
    for node, parent in enumerate(profile.parents):
        if node in moves:
            owners.append(node)
        else:
            owners.append(owners[parent] if parent >= 0 else -1)
    return owners


def _without_circles(profile: Profile, moves: dict[int, int], owners: list[int]) -> dict[int, int]:
    """The moves that can be made together: walk up from owner to owner, undo circles."""
    kept = dict(moves)
    state: dict[int, int] = {}
    for start in moves:
        path: list[int] = []
        owner = start
        while owner >= 0 and state.get(owner) != _DONE:
            if state.get(owner) == _VISITING:
                circle = path[path.index(owner) :]
                del path[-len(circle) :]
                for node in circle:
                    kept.pop(node, None)
                    state.pop(node)
            state[owner] = _VISITING
            path.append(owner)
            above = kept.get(owner, profile.parents[owner])
            owner = owners[above] if above >= 0 else -1
        state.update(dict.fromkeys(path, _DONE))
    return kept
