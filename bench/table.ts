export function table(head: string[], rows: string[][]): string[] {
  const lines = [head, ...rows]
  const widths = head.map((_, n) => Math.max(...lines.map((line) => line[n]!.length)))
  const line = (texts: string[]) =>
    `| ${texts.map((text, n) => (n ? text.padStart(widths[n]!) : text.padEnd(widths[n]!))).join(' | ')} |`
  const rule = line(widths.map((width, n) => (n ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width))))
  return [line(head), rule, ...rows.map(line)]
}
