/** From the bytes of a block to what it holds. */

const utf8 = new TextDecoder();

export async function inflate(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  // Served with `Content-Encoding: gzip` the browser has unpacked it already.
  if (packed[0] !== 0x1f || packed[1] !== 0x8b) return packed;
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export function decodeText(block: Uint8Array): string {
  return utf8.decode(block);
}

export function decodeJson<T>(block: Uint8Array): T {
  return JSON.parse(decodeText(block)) as T;
}

export interface Nodes {
  parent: Int32Array;
  frame: Uint32Array;
  logical: Int32Array;
  layer: Uint8Array;
  backward: Uint8Array;
}

export interface Stats {
  count: Float64Array;
  sum: Float64Array;
  min: Float64Array;
  max: Float64Array;
  m2: Float64Array;
  node: Uint32Array;
}

export interface Edges {
  src: Uint32Array;
  dst: Uint32Array;
  kind: Uint8Array;
}

/** Takes one column after the other; all machines that run a browser are little-endian. */
class Columns {
  private offset = 0;

  constructor(private readonly block: Uint8Array<ArrayBuffer>) {}

  take<T>(type: { new (buffer: ArrayBuffer): T; BYTES_PER_ELEMENT: number }, n: number): T {
    const start = this.block.byteOffset + this.offset;
    this.offset += n * type.BYTES_PER_ELEMENT;
    if (this.offset > this.block.byteLength) throw new Error("a block is cut short");
    return new type(this.block.buffer.slice(start, start + n * type.BYTES_PER_ELEMENT));
  }
}

export function decodeNodes(block: Uint8Array<ArrayBuffer>, n: number): Nodes {
  const columns = new Columns(block);
  return {
    parent: columns.take(Int32Array, n),
    frame: columns.take(Uint32Array, n),
    logical: columns.take(Int32Array, n),
    layer: columns.take(Uint8Array, n),
    backward: columns.take(Uint8Array, n),
  };
}

export function decodeStats(block: Uint8Array<ArrayBuffer>, rows: number): Stats {
  const columns = new Columns(block);
  return {
    count: columns.take(Float64Array, rows),
    sum: columns.take(Float64Array, rows),
    min: columns.take(Float64Array, rows),
    max: columns.take(Float64Array, rows),
    m2: columns.take(Float64Array, rows),
    node: columns.take(Uint32Array, rows),
  };
}

export function decodeCalls(block: Uint8Array<ArrayBuffer>, n: number): Float64Array {
  return new Columns(block).take(Float64Array, n);
}

export function decodeEdges(block: Uint8Array<ArrayBuffer>, n: number): Edges {
  const columns = new Columns(block);
  return {
    src: columns.take(Uint32Array, n),
    dst: columns.take(Uint32Array, n),
    kind: columns.take(Uint8Array, n),
  };
}
