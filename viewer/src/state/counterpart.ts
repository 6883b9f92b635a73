import type { Links } from "../data/meta";
import { selectedLine, selection, session } from "./app";

/** From a selection to what belongs to it on the other side: source ↔ generated code. */

export interface Generated {
  artifact: number;
  line: number;
}

/** Lines of generated code for the selected node or source line, in the order of links. */
export async function generatedFor(): Promise<Generated[]> {
  const selected = selection.value;
  if (session.value === null || selected === null) return [];
  if (selected.kind === "artifact") return [{ artifact: selected.artifact, line: selected.line }];
  const { profile } = session.value;
  const links = await profile.links();
  const node = selected.kind === "node" ? linksWhere(links, (i) => links.node[i] === selected.node) : [];
  if (node.length > 0) return node;
  const line = selectedLine.value;
  if (line === null) return [];
  return linksWhere(
    links,
    (i) => links.source_line[i] === line.line && profile.strings[links.file[i]!] === line.file,
  );
}

function linksWhere(links: Links, wanted: (i: number) => boolean): Generated[] {
  return links.artifact.flatMap((artifact, i) =>
    artifact >= 0 && links.line[i]! > 0 && wanted(i) ? [{ artifact, line: links.line[i]! }] : [],
  );
}
