import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Findings, Table } from './probe.ts'

interface Measured extends Findings {
  measuredAt: string
  rounds: number
  seconds: number
  machine: string
}

/** The findings of all probes by their names, in the order of the page. */
export type Results = Record<string, Measured>

/** Returns the stored results. A run replaces those of its probes only. */
export async function readResults(folder: string, names: string[]): Promise<Results> {
  const text = await readFile(join(folder, 'results.json'), 'utf8').catch(() => '{}')
  const stored = JSON.parse(text) as Results
  return Object.fromEntries(names.flatMap((name) => (stored[name] ? [[name, stored[name]]] : [])))
}

export async function writeResults(folder: string, results: Results): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'results.json'), `${JSON.stringify(results, rounded, 2)}\n`)
  await writeFile(join(folder, 'results.md'), markdown(results))
  await writeFile(join(folder, 'results.svg'), chart(Object.values(results)))
}

const rounded = (_: string, value: unknown) =>
  typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value

/** The page of results: first the headlines and the chart. */
export function markdown(results: Results): string {
  const all = Object.values(results)
  const tables = all.flatMap(({ table }) => table ?? [])
  const failures = Object.entries(results).flatMap(([name, { failures = [] }]) =>
    failures.map((failure) => `- Does not count: ${name}: ${failure}`),
  )
  const runs = all.map(
    ({ machine, measuredAt, rounds, seconds }) =>
      `${measuredAt.slice(0, 10)}: ${machine}; medians of ${rounds} rounds of ${seconds} s.`,
  )
  const sections = [
    '# Results',
    ...all.flatMap(({ headline }) => headline ?? []),
    '![Throughput compared with Postgres alone](results.svg)',
    ...Array.from(Map.groupBy(tables, ({ head }) => head.join()).values(), tableText),
    all.flatMap(({ sentences = [] }) => sentences.map((one) => `- ${one}`)).join('\n'),
    failures.join('\n'),
    ...new Set(runs),
  ]
  return `${sections.filter(Boolean).join('\n\n')}\n`
}

/** @param tables tables with the same head */
function tableText(tables: Table[]): string {
  const [head = [], ...rows] = [tables[0]!.head, ...tables.flatMap((one) => one.rows)]
  const widths = head.map((_, n) => Math.max(...[head, ...rows].map((line) => line[n]!.length)))
  const line = (texts: string[]) =>
    `| ${texts.map((text, n) => (n ? text.padStart(widths[n]!) : text.padEnd(widths[n]!))).join(' | ')} |`
  const rule = line(widths.map((width, n) => (n ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width))))
  return [line(head), rule, ...rows.map(line)].join('\n')
}

const size = { width: 820, label: 310, value: 60, row: 26, top: 34, bottom: 12, bar: 16 }

function chart(all: Findings[]): string {
  const bars = all.flatMap(({ bar }) => bar ?? [])
  const scale = (size.width - size.label - size.value) / Math.max(1, ...bars.map(({ ratio }) => ratio))
  const height = size.top + bars.length * size.row + size.bottom
  const one = (size.label + scale).toFixed(1)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${height}" role="img"
  font-family="system-ui, sans-serif" font-size="13" aria-label="Throughput compared with Postgres alone">
<style>
  text { fill: #57606a } .bar { fill: #2f81f7 } .behind { fill: #d29922 } .one { stroke: #cf222e }
  @media (prefers-color-scheme: dark) { text { fill: #9da7b3 } .one { stroke: #ff7b72 } }
</style>
<text x="${one}" y="18" text-anchor="middle">1.0 = Postgres by itself, one statement per request</text>
${bars.map((bar, n) => barOf(bar, size.top + n * size.row, scale)).join('\n')}
<line class="one" x1="${one}" x2="${one}" y1="26" y2="${height - 6}" stroke-dasharray="4 3"/>
</svg>
`
}

function barOf({ title, ratio }: { title: string; ratio: number }, top: number, scale: number): string {
  const beside = size.label + Math.max(ratio, 1) * scale + 6 // right of the line at 1
  const middle = top + size.bar / 2 + 5
  const kind = ratio < 1 ? 'behind' : 'bar'
  return `<text x="${size.label - 10}" y="${middle}" text-anchor="end">${title}</text>
<rect class="${kind}" x="${size.label}" y="${top}" width="${(ratio * scale).toFixed(1)}" height="${size.bar}" rx="2"/>
<text x="${beside.toFixed(1)}" y="${middle}">${ratio.toFixed(2)}×</text>`
}
