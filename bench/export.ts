import type { Client } from '../test/support/client.ts'
import { residentMiB, watchMemory } from './process-usage.ts'

export interface ExportFigures {
  format: string
  /** Tasks and comments a second. */
  rowsPerSecond: number
  /** The growth of the web process until its peak. */
  growthMiB: number
  fileMiB: number
}

interface Exported {
  client: Client
  url: string
  projectId: string
  rows: number
}

/** Reads an export of each format from a web process that has just started. */
export async function measureExports(
  { client, url, projectId, rows }: Exported,
  startWeb: () => Promise<number>,
): Promise<ExportFigures[]> {
  const figures: ExportFigures[] = []
  for (const format of ['docket', 'ndjson', 'csv']) {
    const pid = await startWeb()
    await client.get(`/projects/${projectId}`)
    const before = residentMiB(pid) ?? 0
    const peak = watchMemory([pid])
    const began = performance.now()
    const bytes = await bytesOf(`${url}/api/v1/projects/${projectId}/export?format=${format}`, client)
    const seconds = (performance.now() - began) / 1_000
    const growthMiB = (peak() ?? 0) - before
    figures.push({ format, rowsPerSecond: rows / seconds, growthMiB, fileMiB: bytes / 1_048_576 })
  }
  return figures
}

async function bytesOf(url: string, { token = '' }: Client): Promise<number> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  if (response.status !== 200) throw new Error(`The export was answered ${response.status}`)
  let bytes = 0
  for await (const chunk of response.body!) bytes += chunk.length
  return bytes
}

export const exportSentence = (figures: ExportFigures[]): string => {
  const each = figures.map(
    ({ format, rowsPerSecond, growthMiB, fileMiB }) =>
      `${format} ${Math.round(rowsPerSecond)} rows a second (${fileMiB.toFixed(0)} MiB; the web process grows by ${growthMiB.toFixed(0)} MiB)`,
  )
  return `Exports of the same project: ${each.join(', ')}.`
}
