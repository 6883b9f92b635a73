import { Engine } from "./engine";
import type { Reply, Request } from "./messages";

const engine = new Engine();

self.onmessage = async ({ data }: MessageEvent<Request>) => {
  self.postMessage(await reply(data));
};

async function reply({ id, call, args }: Request): Promise<Reply> {
  try {
    const method = engine[call] as (...args: unknown[]) => unknown;
    return { id, value: await method.apply(engine, args) };
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) };
  }
}
