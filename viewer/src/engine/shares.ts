import type { Model } from "./model";
import type { Order } from "./order";

/** What 100 % is for a set of nodes: all that the filters leave in the threads they appear in. */
export class Shares {
  private readonly words: number;
  private readonly masks: Uint32Array;
  private readonly recorded: Float64Array;

  constructor(model: Model, own: Float64Array, order: Order, parent: Int32Array) {
    const { of, node } = model.threads;
    this.words = Math.ceil(node.length / 32) || 1;
    this.recorded = new Float64Array(node.length);
    this.masks = new Uint32Array(own.length * this.words);
    for (let at = 0; at < own.length; at++) {
      const thread = of[at]!;
      this.recorded[thread]! += own[at]!;
      this.masks[at * this.words + (thread >> 5)]! |= 1 << (thread & 31);
    }
    for (let i = own.length - 1; i >= 0; i--) {
      const at = order.nodes[i]!;
      if (parent[at]! >= 0) this.add(this.masks, parent[at]! * this.words, at);
    }
  }

  /** A set of threads, to be filled with `include`. */
  none(): Uint32Array {
    return new Uint32Array(this.words);
  }

  include(threads: Uint32Array, node: number): void {
    this.add(threads, 0, node);
  }

  whole(threads: Uint32Array): number {
    let sum = 0;
    for (let thread = 0; thread < this.recorded.length; thread++) {
      if ((threads[thread >> 5]! >>> (thread & 31)) & 1) sum += this.recorded[thread]!;
    }
    return sum;
  }

  private add(target: Uint32Array, offset: number, node: number): void {
    for (let word = 0; word < this.words; word++)
      target[offset + word]! |= this.masks[node * this.words + word]!;
  }
}
