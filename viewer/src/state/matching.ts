import { Matcher } from "../engine/client";
import { matchNames, parseQuery } from "../engine/search";

const matcher = new Matcher();

/** Which of the labels match what was typed; null without a search. Expressions have a limit. */
export async function matchLabels(typed: string, labels: string[]): Promise<Uint8Array | null> {
  const query = parseQuery(typed);
  if (query === null) return null;
  if (query.kind === "text") return matchNames(query, labels);
  try {
    return await matcher.match(query, labels);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(message === "stopped" ? "this expression takes too long" : message);
  }
}
