// What all pages share: their data, and numbers with their units.

// The compiler packs data: deflated, in base64. A trainer has no zlib and writes the JSON itself.
async function unpack(text) {
  if (text.trimStart().startsWith("{")) return JSON.parse(text);
  const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

const bytesText = (bytes) => {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let unit = -1;
  do bytes /= 1024; while (++unit < 3 && bytes >= 1023.95);
  return `${bytes.toFixed(unit >= 2 ? 2 : 1)} ${units[unit]}`;
};
const secondsText = (seconds) => {
  if (seconds === 0) return "0";
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  return seconds >= 1e-3 ? `${(seconds * 1e3).toFixed(2)} ms` : `${(seconds * 1e6).toFixed(1)} µs`;
};
const shareText = (share) => `${(share * 100).toFixed(share !== 0 && Math.abs(share) < 0.01 ? 1 : 0)}%`;
const numberText = (number) => number.toLocaleString("en");
