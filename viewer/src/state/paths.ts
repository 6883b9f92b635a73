import type { Profile } from "../data/profile";
import { pathTo, type View } from "../engine/view";
import { shortHash } from "./hash";

/** Names for nodes that survive a new profile of the same program: a short hash for each level. */
export function frameHash(profile: Profile, frame: number): string {
  const { frames, strings, meta } = profile;
  const text = (id: number) => strings[id] ?? "";
  const parts = [
    meta.kinds[frames.kind[frame]!],
    text(frames.name[frame]!),
    text(frames.file[frame]!),
    frames.line[frame],
    text(frames.graph[frame]!),
  ];
  return shortHash(parts.join("\n"));
}

export function encodePath(profile: Profile, view: View, v: number): string {
  return pathTo(view, v)
    .map((at) => frameHash(profile, view.frame[at]!))
    .join(".");
}

/** The node of the path, or the nearest above it that there is; −1 if not even its thread is. */
export function decodePath(profile: Profile, view: View, path: string): { v: number; whole: boolean } {
  let v = -1;
  for (const hash of path.split(".")) {
    const child = childWith(profile, view, v, hash);
    if (child < 0) return { v, whole: false };
    v = child;
  }
  return { v, whole: v >= 0 };
}

function childWith(profile: Profile, view: View, v: number, hash: string): number {
  const start = v < 0 ? 0 : view.firstChild[v]!;
  const end = v < 0 ? (view.rowStart[1] ?? 0) : view.firstChild[v + 1]!;
  for (let child = start; child < end; child++) {
    if (frameHash(profile, view.frame[child]!) === hash) return child;
  }
  return -1;
}
