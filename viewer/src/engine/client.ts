import type { Meta } from "../data/meta";
import type { BlockSource } from "../data/source";
import type { Opened, Packed } from "./engine";
import type { Answer, CallName, Calls, Reply } from "./messages";
import type { Query } from "./search";
import EngineWorker from "./worker?worker&inline";

interface Waiting {
  resolve: (value: never) => void;
  reject: (error: Error) => void;
}

/** Calls a worker's engine; answers come in the order of questions. */
export class EngineClient {
  private readonly worker = new EngineWorker();
  private readonly waiting = new Map<number, Waiting>();
  private asked = 0;

  constructor() {
    this.worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      const waiting = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if ("error" in data) waiting?.reject(new Error(data.error));
      else waiting?.resolve(data.value as never);
    };
    this.worker.onerror = (event) => {
      this.fail(event.message || "the worker could not start");
    };
  }

  call<K extends CallName>(call: K, args: Parameters<Calls[K]>, move: Transferable[] = []) {
    const id = ++this.asked;
    return new Promise<Answer<K>>((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, call, args }, move);
    });
  }

  stop(): void {
    this.worker.terminate();
    this.fail("stopped");
  }

  private fail(why: string): void {
    for (const { reject } of this.waiting.values()) reject(new Error(why));
    this.waiting.clear();
  }
}

export async function openEngine(client: EngineClient, source: BlockSource, meta: Meta): Promise<Opened> {
  const names = ["strings", "frames", "nodes", "calls", ...meta.metrics.map((_, i) => `stat:${i}`)];
  const [strings, frames, nodes, calls, ...stats] = await Promise.all(names.map((name) => source.load(name)));
  const packed = { strings, frames, nodes, calls, stats } as Packed;
  const buffers = [packed.strings, packed.frames, packed.nodes, packed.calls, ...packed.stats];
  return client.call("open", [meta, packed], buffers.map((block) => block.buffer));
}

/** Matches a user's regular expressions; one that takes too long is stopped with its worker. */
export class Matcher {
  private client: EngineClient | undefined;

  async match(query: Query, names: string[], limit_ms = 100): Promise<Uint8Array> {
    this.client ??= new EngineClient();
    const client = this.client;
    await client.call("match", [{ kind: "text", text: "" }, []]); // the clock starts when it runs
    const timer = setTimeout(() => {
      client.stop();
      this.client = undefined;
    }, limit_ms);
    return client.call("match", [query, names]).finally(() => clearTimeout(timer));
  }
}
