/** What differs between the hosts of the one bundle: a page, `pellucid view`, an editor, a notebook. */
export interface Host {
  copy(text: string): Promise<void>;
  /** Null where there is no editor to open files in. */
  openInEditor: ((file: string, line: number) => void) | null;
  /** For the theme only: pages from `file://` share their storage. */
  read(key: string): string | null;
  write(key: string, value: string): void;
  pushHash(hash: string): void;
  replaceHash(hash: string): void;
}

/** In a sandboxed frame history and storage throw: then state lives in memory only. */
function guarded<T>(action: () => T, otherwise: T): T {
  try {
    return action();
  } catch {
    return otherwise;
  }
}

export const pageHost: Host = {
  copy: (text) => navigator.clipboard.writeText(text),
  openInEditor: null,
  read: (key) => guarded(() => localStorage.getItem(key), null),
  write: (key, value) => guarded(() => localStorage.setItem(key, value), undefined),
  pushHash: (hash) => guarded(() => history.pushState(null, "", hash), undefined),
  replaceHash: (hash) => guarded(() => history.replaceState(null, "", hash), undefined),
};
