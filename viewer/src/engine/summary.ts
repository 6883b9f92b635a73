import { ownAmounts, type Filters, type Model } from "./model";

/** The recorded amount by layer (an index of `meta.layers`), whatever is folded. */
export function layerSums(model: Model, filters: Filters): number[] {
  const own = ownAmounts(model, filters);
  const sums: number[] = [];
  for (let node = 0; node < own.length; node++) {
    const layer = model.nodes.layer[node]!;
    sums[layer] = (sums[layer] ?? 0) + own[node]!;
  }
  return Array.from(sums, (sum) => sum ?? 0);
}
