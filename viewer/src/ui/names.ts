import type { Profile } from "../data/profile";

/** Characters that would hide or reorder text: shown as escapes, so that names cannot lie. */
 
const TRICKY = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]/gu;

export function visible(text: string): string {
  return text.replace(TRICKY, (char) => `\\u${char.codePointAt(0)!.toString(16).padStart(4, "0")}`);
}

const PREFIX: Record<string, string> = {
  thread: "thread",
  process: "process",
  python: "py",
  module: "mod",
  operator: "op",
  region: "region",
  graph: "graph",
  kernel: "k",
  native: "c",
  runtime: "run",
  device: "dev",
  instruction: "asm",
  compile: "comp",
  small: "",
};

/** The end of a name tells more than its start. */
export function keepTail(text: string, most: number): string {
  return text.length <= most ? text : `…${text.slice(text.length - Math.max(1, most - 1))}`;
}

export function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}

export interface FrameInfo {
  kind: string;
  prefix: string;
  name: string;
  file: string | null;
  line: number | null;
  /** `file:line`, short; empty without a file. */
  place: string;
  internal: boolean;
}

/** The frames as they are shown; made once for each. */
export class FrameNames {
  private readonly made = new Map<number, FrameInfo>();

  constructor(private readonly profile: Profile) {}

  info(frame: number): FrameInfo {
    const known = this.made.get(frame);
    if (known !== undefined) return known;
    const info = this.make(frame);
    this.made.set(frame, info);
    return info;
  }

  /** As in a bar: kind prefix, name, place. */
  label(frame: number): string {
    const { prefix, name, place } = this.info(frame);
    return [prefix, name, place].filter(Boolean).join(" ");
  }

  /** What a search looks through, for each frame. */
  searched(): string[] {
    return this.profile.frames.kind.map((_, frame) => {
      const { name, place } = this.info(frame);
      return place === "" ? name : `${name} ${place}`;
    });
  }

  private make(frame: number): FrameInfo {
    const { frames, strings, meta } = this.profile;
    const kind = meta.kinds[frames.kind[frame]!] ?? "";
    const file = frames.file[frame]! < 0 ? null : strings[frames.file[frame]!]!;
    const line = frames.line[frame]! < 0 ? null : frames.line[frame]!;
    return {
      kind,
      prefix: PREFIX[kind] ?? kind,
      name: visible(strings[frames.name[frame]!] ?? ""),
      file,
      line,
      place: file === null ? "" : visible(baseName(file)) + (line === null ? "" : `:${line}`),
      internal: frames.internal[frame] === 1,
    };
  }
}
