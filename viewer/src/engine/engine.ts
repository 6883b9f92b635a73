import { decodeCalls, decodeJson, decodeNodes, decodeStats, inflate } from "../data/decode";
import type { Frames, Meta } from "../data/meta";
import { spreadOf, type Spread } from "./detail";
import type { Grouping } from "./groups";
import { heatOf, type LineHeat } from "./heat";
import { makeModel, type Filters, type Model } from "./model";
import { matchNames, type Query } from "./search";
import { layerSums } from "./summary";
import { makeTable, type Table } from "./tables";
import { makeView, type View } from "./view";

type Block = Uint8Array<ArrayBuffer>;

/** Gzip blocks, as they come. */
export interface Packed {
  strings: Block;
  frames: Block;
  nodes: Block;
  calls: Block;
  stats: Block[];
}

export interface Opened {
  /** Labels of the threads, which filters name by their index. */
  threads: string[];
}

/** What the worker answers; the page calls these through `client.ts`. */
export class Engine {
  private model: Model | undefined;
  private readonly views = new Recent<View>(2);
  private readonly tables = new Recent<Table>(12);

  async open(meta: Meta, packed: Packed): Promise<Opened> {
    const n = meta.counts.nodes;
    const stats = packed.stats.map(async (block, i) =>
      decodeStats(await inflate(block), meta.metrics[i]!.rows),
    );
    this.model = makeModel({
      nodes: decodeNodes(await inflate(packed.nodes), n),
      calls: decodeCalls(await inflate(packed.calls), n),
      stats: await Promise.all(stats),
      additive: meta.metrics.map((metric) => metric.additive),
      durations: meta.metrics.findIndex((metric) => metric.name === "duration"),
      frames: decodeJson<Frames>(await inflate(packed.frames)),
      strings: decodeJson<string[]>(await inflate(packed.strings)),
      kinds: meta.kinds,
    });
    return { threads: this.model.threads.label };
  }

  view(filters: Filters): View {
    return this.views.get(JSON.stringify(filters), () => makeView(this.opened, filters));
  }

  table(by: Grouping, filters: Filters): Table {
    const key = JSON.stringify([by, filters]);
    return this.tables.get(key, () => makeTable(this.opened, by, filters));
  }

  layers(filters: Filters): number[] {
    return layerSums(this.opened, filters);
  }

  /** The program's own files are seen with internals folded into their lines. */
  heat(file: string, internal: boolean, filters: Filters): LineHeat[] {
    return heatOf(this.table("line", { ...filters, fold: !internal }), file);
  }

  spread(v: number, filters: Filters): Spread | null {
    return spreadOf(this.opened, this.view(filters), v);
  }

  match(query: Query, names: string[]): Uint8Array {
    return matchNames(query, names);
  }

  private get opened(): Model {
    if (this.model === undefined) throw new Error("no profile was opened");
    return this.model;
  }
}

/** Keeps the few results that were asked for last. */
class Recent<T> {
  private readonly kept = new Map<string, T>();

  constructor(private readonly most: number) {}

  get(key: string, make: () => T): T {
    const known = this.kept.get(key) ?? make();
    this.kept.delete(key);
    this.kept.set(key, known);
    if (this.kept.size > this.most) this.kept.delete(this.kept.keys().next().value!);
    return known;
  }
}
