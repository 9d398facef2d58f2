import type { Row } from './measure.ts'

const size = { width: 820, label: 310, value: 60, row: 26, top: 34, bottom: 12, bar: 16 }

export function chart(rows: Row[]): string {
  const bars = rows.flatMap(({ title, ratios: { least: ratio } }) => (ratio ? [{ title, ratio }] : []))
  const most = Math.max(1, ...bars.map(({ ratio }) => ratio))
  const scale = (size.width - size.label - size.value) / most
  const height = size.top + bars.length * size.row + size.bottom
  const one = size.label + scale
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${height}" role="img"
  font-family="system-ui, sans-serif" font-size="13" aria-label="Throughput against the database's own limit">
<style>
  text { fill: #57606a } .bar { fill: #2f81f7 } .behind { fill: #d29922 } .one { stroke: #cf222e }
  @media (prefers-color-scheme: dark) { text { fill: #9da7b3 } .one { stroke: #ff7b72 } }
</style>
<text x="${one.toFixed(1)}" y="18" text-anchor="middle">1.0 = Postgres by itself, one statement per request</text>
${bars.map((bar, n) => barOf(bar, size.top + n * size.row, scale)).join('\n')}
<line class="one" x1="${one.toFixed(1)}" x2="${one.toFixed(1)}" y1="26" y2="${height - 6}" stroke-dasharray="4 3"/>
</svg>
`
}

function barOf({ title, ratio }: { title: string; ratio: number }, top: number, scale: number): string {
  const width = (ratio * scale).toFixed(1)
  const beside = size.label + Math.max(ratio, 1) * scale + 6 // right of the line at 1
  const middle = top + size.bar / 2 + 5
  const kind = ratio < 1 ? 'behind' : 'bar'
  return `<text x="${size.label - 10}" y="${middle}" text-anchor="end">${title}</text>
<rect class="${kind}" x="${size.label}" y="${top}" width="${width}" height="${size.bar}" rx="2"/>
<text x="${beside.toFixed(1)}" y="${middle}">${ratio.toFixed(2)}×</text>`
}
