/** The blocks of docs/report.md as they are written. */

export const VERSION = 1;

export interface Metric {
  name: string;
  unit: string;
  help: string;
  additive: boolean;
  rows: number;
}

export interface Run {
  id: number;
  rank: number | null;
  world: number | null;
  host: string;
  pid: number;
  start_ns: number;
  wall_ns: number;
  threads: number;
  complete: boolean;
  ended: string | null;
}

export interface Loss {
  kind: string;
  count: number;
  detail: string;
}

export interface Steps {
  name: string;
  durations_ns: number[];
  left_out: number;
}

export interface CompileEvent {
  kind: string;
  function: string;
  compile_id: string | null;
  what: string;
  file: string | null;
  line: number | null;
}

export interface CompileSummary {
  functions: number;
  graphs: number;
  kernels: number;
  guards: number;
  time_ns: number | null;
  attempts: Record<string, number>;
  caches: Record<string, Record<string, number>>;
  events: CompileEvent[];
}

export interface SourceInfo {
  path: string;
  shown: string;
  lines: number;
  internal: boolean;
}

export interface ArtifactInfo {
  id: number;
  compile: number | null;
  kind: string;
  name: string;
  language: string;
  origin: string;
  lines: number;
}

export interface Meta {
  version: number;
  title: string;
  pellucid: string;
  counts: { nodes: number; frames: number; edges: number };
  metrics: Metric[];
  layers: string[];
  kinds: string[];
  runs: Run[];
  losses: Loss[];
  about: Record<string, unknown>;
  steps: Steps | null;
  compile: CompileSummary | null;
  pruned: { nodes: number; min_ns: number };
  sources: SourceInfo[];
  sources_left_out: number;
  artifacts: ArtifactInfo[];
}

/** Columns; `name`, `file`, `root`, `class` and `graph` index the strings, −1 is none. */
export interface Frames {
  kind: number[];
  name: number[];
  file: number[];
  line: number[];
  first_line: number[];
  internal: number[];
  root: number[];
  class: number[];
  graph: number[];
}

export interface Links {
  artifact: number[];
  compile: number[];
  line: number[];
  end_line: number[];
  file: number[];
  source_line: number[];
  node: number[];
}

export interface CompileRow {
  id: number;
  parent: number | null;
  kind: string;
  name: string;
  file: string | null;
  line: number | null;
  status: string;
  duration_ns: number | null;
  detail: Record<string, unknown>;
}
