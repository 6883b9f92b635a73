/** Where blocks come from: elements of the page, or files beside it (`pellucid view`). */

export interface BlockSource {
  /** The block as gzip; fails if there is none of that name. */
  load(name: string): Promise<Uint8Array<ArrayBuffer>>;
}

export function openSource(document: Document): BlockSource {
  const folder = document.querySelector<HTMLMetaElement>('meta[name="pellucid-blocks"]')?.content;
  return folder === undefined ? inlineSource(document) : fetchSource(new URL(folder, document.baseURI));
}

export function inlineSource(document: Document): BlockSource {
  return {
    async load(name) {
      const text = document.getElementById(`block:${name}`)?.textContent;
      if (text === undefined) throw new Error(`this page has no block “${name}”`);
      return fromBase64(text);
    },
  };
}

export function fetchSource(folder: URL): BlockSource {
  return {
    async load(name) {
      const answer = await fetch(new URL(name, folder));
      if (!answer.ok) throw new Error(`block “${name}”: the server says ${answer.status}`);
      return new Uint8Array(await answer.arrayBuffer());
    },
  };
}

interface Base64Constructor {
  fromBase64?(text: string): Uint8Array<ArrayBuffer>;
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as Base64Constructor).fromBase64;
  if (native !== undefined) return native(text);
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
