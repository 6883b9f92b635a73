import { decodeJson, decodeText, inflate } from "./decode";
import { VERSION, type CompileRow, type Frames, type Links, type Meta } from "./meta";
import type { BlockSource } from "./source";

/** What the page itself needs of a profile; nodes and their numbers live in the engine. */
export interface Profile {
  meta: Meta;
  strings: string[];
  frames: Frames;
  /** Each read once, when it is first wanted. */
  links(): Promise<Links>;
  compiles(): Promise<CompileRow[]>;
  sourceText(index: number): Promise<string>;
  artifactText(id: number): Promise<string>;
}

export async function readMeta(source: BlockSource): Promise<Meta> {
  const meta = await json<Meta>(source, "meta");
  if (meta.version !== VERSION)
    throw new Error(
      `this report holds data of version ${meta.version}; this viewer reads version ${VERSION}`,
    );
  return meta;
}

export async function openProfile(source: BlockSource, meta: Meta): Promise<Profile> {
  const [strings, frames] = await Promise.all([
    json<string[]>(source, "strings"),
    json<Frames>(source, "frames"),
  ]);
  const read = once((name: string) => json<unknown>(source, name));
  const text = once(async (name: string) => decodeText(await inflate(await source.load(name))));
  return {
    meta,
    strings,
    frames,
    links: () => read("links") as Promise<Links>,
    compiles: () => read("compiles") as Promise<CompileRow[]>,
    sourceText: (index) => text(`source:${index}`),
    artifactText: (id) => text(`artifact:${id}`),
  };
}

async function json<T>(source: BlockSource, name: string): Promise<T> {
  return decodeJson<T>(await inflate(await source.load(name)));
}

function once<T>(make: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const made = new Map<string, Promise<T>>();
  return (key) => {
    const known = made.get(key) ?? make(key);
    made.set(key, known);
    return known;
  };
}
