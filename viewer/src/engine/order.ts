/** A forest in preorder: what is below a node is a range. */
export interface Order {
  nodes: Uint32Array;
  begin: Uint32Array;
  end: Uint32Array;
}

/** `parent` may come later than its child, as in the logical tree. */
export function preorder(parent: Int32Array): Order {
  const n = parent.length;
  const { first, next } = childChains(parent);
  const order = { nodes: new Uint32Array(n), begin: new Uint32Array(n), end: new Uint32Array(n) };
  let visited = 0;
  const enter = (node: number) => {
    order.begin[node] = visited;
    order.nodes[visited++] = node;
  };
  for (let root = 0; root < n; root++) {
    if (parent[root]! >= 0) continue;
    enter(root);
    for (let at = root; at >= 0; ) {
      const child = first[at]!;
      if (child >= 0) {
        first[at] = next[child]!;
        enter(child);
        at = child;
      } else {
        order.end[at] = visited;
        at = parent[at]!;
      }
    }
  }
  return order;
}

function childChains(parent: Int32Array): { first: Int32Array; next: Int32Array } {
  const first = new Int32Array(parent.length).fill(-1);
  const next = new Int32Array(parent.length).fill(-1);
  for (let node = parent.length - 1; node >= 0; node--) {
    const above = parent[node]!;
    if (above < 0) continue;
    next[node] = first[above]!;
    first[above] = node;
  }
  return { first, next };
}
