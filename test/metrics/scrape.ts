import { freePort } from '../../src/local/port.ts'

/** Starts a process with a metrics port, up to five times, because another process may open the port first. */
export async function startMeasured<T>(start: (port: number) => Promise<T>, attempts = 5) {
  const port = await freePort()
  try {
    return { port, service: await start(port) }
  } catch (error) {
    if (attempts === 1) throw error
    return startMeasured(start, attempts - 1)
  }
}

/** Reads a metrics endpoint. `of` returns the value of a series, which is named with its labels. */
export async function scrape(
  port: number,
): Promise<{ text: string; of(series: string): number | undefined }> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`)
  const text = await response.text()
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status} ${text}`)
  const lines = text.split('\n').filter((line) => line && !line.startsWith('#'))
  const values = new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  )
  return { text, of: (series) => values.get(series) }
}
