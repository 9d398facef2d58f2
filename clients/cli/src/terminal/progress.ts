import type { Output } from './output.ts'

const barColumns = 24
const eraseLine = '\r\u001b[K'

/** @param total undefined if the number is unknown */
type Show = (done: number, total?: number) => void

/** Runs work with a progress bar. Shows the bar only on a terminal, and erases the bar at the end of the work. */
export const withProgress = <T>(output: Output, what: string, work: (show: Show) => Promise<T>): Promise<T> =>
  withStatus(output, (show) =>
    work((done, total) =>
      show(total === undefined ? `${done} ${what}` : `${bar(done / total)} ${done}/${total} ${what}`),
    ),
  )

/** Runs work that shows texts, each in place of the last. Shows texts only on a terminal, and erases them at the end. */
export async function withStatus<T>(
  output: Output,
  work: (show: (text: string) => void) => Promise<T>,
): Promise<T> {
  let isShown = false
  const show = (text: string) => {
    if (!output.isTerminal) return
    isShown = true
    void output.write(eraseLine + text)
  }
  try {
    return await work(show)
  } finally {
    if (isShown) void output.write(eraseLine)
  }
}

/** @param share from 0 to 1 */
export function bar(share: number): string {
  const filled = Math.floor(Math.min(share, 1) * barColumns)
  return '█'.repeat(filled) + '░'.repeat(barColumns - filled)
}

/** Returns, for example, `1.5 MiB`. */
export const sizeText = (bytes: number): string =>
  bytes < 1_048_576 ? `${(bytes / 1_024).toFixed(1)} KiB` : `${(bytes / 1_048_576).toFixed(1)} MiB`
