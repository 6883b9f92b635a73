import type { Engine } from "./engine";

/** The engine's methods as the page sees them. */
export type Calls = Pick<Engine, "open" | "view" | "table" | "layers" | "heat" | "spread" | "match">;
export type CallName = keyof Calls;
export type Answer<K extends CallName> = Awaited<ReturnType<Calls[K]>>;

export interface Request<K extends CallName = CallName> {
  id: number;
  call: K;
  args: Parameters<Calls[K]>;
}

export type Reply = { id: number; value: unknown } | { id: number; error: string };
