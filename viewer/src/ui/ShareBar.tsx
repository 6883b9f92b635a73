/** A thin bar behind or beside a number. */
export function ShareBar({ share, largest = 1 }: { share: number | null; largest?: number }) {
  const width = largest > 0 ? Math.min(1, (share ?? 0) / largest) * 100 : 0;
  return (
    <span class="share-bar" aria-hidden="true">
      <span style={{ width: `${width}%` }} />
    </span>
  );
}
