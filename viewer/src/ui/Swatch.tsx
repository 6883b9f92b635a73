/** A small sample of a layer's colour. */
export function Swatch({ layer }: { layer: string }) {
  return <span class={`swatch layer-${layer}`} aria-hidden="true" />;
}
