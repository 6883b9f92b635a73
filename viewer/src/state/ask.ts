import { useEffect, useState } from "preact/hooks";
import { failure, session } from "./app";
import type { Answer, CallName, Calls } from "../engine/messages";

/** The engine's answer to a question; while a new one is worked on, the last one stays. */
export function useEngine<K extends CallName>(call: K, ...args: Parameters<Calls[K]>): Answer<K> | null {
  const key = JSON.stringify([call, args]);
  const engine = session.value?.engine;
  return useAnswer(() => engine?.call(call, args) ?? null, [engine, key]);
}

export function useAnswer<T>(ask: () => Promise<T> | null, when: unknown[]): T | null {
  const [answer, setAnswer] = useState<{ value: T } | null>(null);
  useEffect(() => {
    let wanted = true;
    ask()?.then(
      (value) => wanted && setAnswer({ value }),
      (error: Error) => wanted && (failure.value = error.message),
    );
    return () => {
      wanted = false;
    };
  }, when);
  return answer?.value ?? null;
}
