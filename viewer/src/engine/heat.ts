import type { Row, Table } from "./tables";

/** What a line of a source cost, from the rows of the table of lines. */
export interface LineHeat {
  line: number;
  self: number;
  total: number;
  forward: number;
  backward: number;
  /** Of all that the filters leave: one scale for all files. */
  selfShare: number;
  totalShare: number;
  /** The frames' names, for the few lines that several functions share. */
  names: string[];
  node: number;
}

export function heatOf(table: Table, file: string): LineHeat[] {
  const lines = new Map<number, LineHeat>();
  for (const row of table.rows) {
    if (row.file !== file || row.line === null || row.total <= 0) continue;
    const heat = lines.get(row.line);
    if (heat === undefined) lines.set(row.line, lineHeat(row, row.line));
    else add(heat, row);
  }
  const whole = table.recorded;
  for (const heat of lines.values()) {
    heat.selfShare = whole > 0 ? heat.self / whole : 0;
    heat.totalShare = whole > 0 ? heat.total / whole : 0;
  }
  return [...lines.values()].sort((a, b) => a.line - b.line);
}

function lineHeat(row: Row, line: number): LineHeat {
  const { self, total, backward, node } = row;
  const forward = total - backward;
  return { line, self, total, forward, backward, selfShare: 0, totalShare: 0, names: [row.name], node };
}

function add(heat: LineHeat, row: Row): void {
  heat.self += row.self;
  heat.total += row.total;
  heat.forward += row.total - row.backward;
  heat.backward += row.backward;
  heat.names.push(row.name);
}
