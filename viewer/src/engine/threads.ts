import type { Model } from "./model";

/** The threads, each with its first node; what is a process's own counts as a thread of it. */
export interface Threads {
  of: Int32Array;
  node: number[];
  label: string[];
}

export function findThreads(model: Pick<Model, "nodes" | "frames" | "strings" | "kinds">): Threads {
  const { parent, frame } = model.nodes;
  const threadKind = model.kinds.indexOf("thread");
  const threads: Threads = { of: new Int32Array(parent.length), node: [], label: [] };
  for (let node = 0; node < parent.length; node++) {
    const above = parent[node]!;
    if (above >= 0 && model.frames.kind[frame[node]!] !== threadKind) {
      threads.of[node] = threads.of[above]!;
      continue;
    }
    threads.of[node] = threads.node.length;
    threads.node.push(node);
    const name = model.strings[model.frames.name[frame[node]!]!] ?? "";
    const process = above >= 0 ? `${threads.label[threads.of[above]!]} › ` : "";
    threads.label.push(process + name);
  }
  return threads;
}
