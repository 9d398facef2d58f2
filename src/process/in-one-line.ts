/** What went wrong, for who started the process: no trace, no source of a library. */
export function inOneLine(error: unknown): string {
  const message = error instanceof Error ? error.message : ''
  return (message || String(error)).trim().replace(/\s*\n\s*/g, ' ')
}
