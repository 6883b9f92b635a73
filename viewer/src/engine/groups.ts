import { kindNumber, type Model } from "./model";
import type { Order } from "./order";

export const GROUPINGS = ["operator", "module", "kernel", "line", "function", "thread"] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** What tells a row from the others. */
export interface Key {
  name: string;
  file: string | null;
  line: number | null;
  root: string | null;
  class: string | null;
  graph: string | null;
}

/** The keys, and for each node the index of its key; −1 for nodes that define no row. */
export interface Groups {
  keys: Key[];
  ofNode: Int32Array;
}

export function group(model: Model, order: Order, logical: Int32Array, by: Grouping, fold: boolean): Groups {
  return by === "module" ? byModule(model, order, logical) : byFrame(model, by, fold);
}

class Keys {
  readonly all: Key[] = [];
  private readonly ids = new Map<string, number>();

  id(key: Key): number {
    const text = JSON.stringify([key.name, key.file, key.line, key.root, key.class, key.graph]);
    const known = this.ids.get(text);
    if (known !== undefined) return known;
    this.ids.set(text, this.all.length);
    return this.all.push(key) - 1;
  }
}

function byFrame(model: Model, by: Grouping, fold: boolean): Groups {
  const keys = new Keys();
  const ofFrame = Int32Array.from(model.frames.kind, (_, frame) => {
    const key = frameKey(model, frame, by, fold);
    return key === null ? -1 : keys.id(key);
  });
  return { keys: keys.all, ofNode: Int32Array.from(model.nodes.frame, (frame) => ofFrame[frame]!) };
}

function frameKey(model: Model, frame: number, by: Grouping, fold: boolean): Key | null {
  const { frames } = model;
  const kind = model.kinds[frames.kind[frame]!];
  const key = { ...NO_KEY, name: text(model, frames.name[frame]!) ?? "" };
  if (by === "line" || by === "function") {
    if (kind !== "python" || (fold && frames.internal[frame] === 1)) return null;
    const line = by === "line" ? frames.line[frame]! : frames.first_line[frame]!;
    return { ...key, file: text(model, frames.file[frame]!), line: line < 0 ? null : line };
  }
  if (by === "kernel") {
    if (kind !== "kernel" && kind !== "device") return null;
    return { ...key, graph: text(model, frames.graph[frame]!) };
  }
  return kind === by ? key : null;
}

/** By qualified name within the root module: what the frame says, else the outermost around it. */
function byModule(model: Model, order: Order, logical: Int32Array): Groups {
  const { frames, nodes } = model;
  const moduleKind = kindNumber(model, "module");
  const keys = new Keys();
  const ofNode = new Int32Array(nodes.frame.length).fill(-1);
  const roots = new Int32Array(nodes.frame.length).fill(-1);
  const known = new Map<number, Map<number, number>>();
  for (const node of order.nodes) {
    const above = logical[node]!;
    roots[node] = above < 0 ? -1 : roots[above]!;
    const frame = nodes.frame[node]!;
    if (frames.kind[frame] !== moduleKind) continue;
    const root = firstKnown(frames.root[frame]!, roots[node]!, frames.name[frame]!);
    roots[node] = root;
    const ofFrame = known.get(frame) ?? new Map<number, number>();
    known.set(frame, ofFrame);
    const id = ofFrame.get(root) ?? keys.id(moduleKey(model, frame, root));
    ofFrame.set(root, id);
    ofNode[node] = id;
  }
  return { keys: keys.all, ofNode };
}

function moduleKey(model: Model, frame: number, root: number): Key {
  const { frames } = model;
  return {
    ...NO_KEY,
    name: text(model, frames.name[frame]!) ?? "",
    root: text(model, root),
    class: text(model, frames.class[frame]!),
  };
}

const NO_KEY: Key = { name: "", file: null, line: null, root: null, class: null, graph: null };

function firstKnown(...ids: number[]): number {
  return ids.find((id) => id >= 0) ?? -1;
}

function text(model: Model, id: number): string | null {
  return id < 0 ? null : (model.strings[id] ?? null);
}
