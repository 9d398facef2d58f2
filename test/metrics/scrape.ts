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
