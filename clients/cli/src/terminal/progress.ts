import type { Output } from './output.ts'

const barColumns = 24
const eraseLine = '\r\u001b[K'

/** @param total absent if the end is not known */
type Show = (done: number, total?: number) => void

/** Runs long work with a progress bar on standard error, which only a terminal shows, until the work ends or fails. */
export async function withProgress<T>(
  output: Output,
  what: string,
  work: (show: Show) => Promise<T>,
): Promise<T> {
  let isShown = false
  const show: Show = (done, total) => {
    if (!output.isTerminal) return
    isShown = true
    const count = total === undefined ? `${done}` : `${bar(done / total)} ${done}/${total}`
    void output.write(`${eraseLine}${count} ${what}`)
  }
  try {
    return await work(show)
  } finally {
    if (isShown) void output.write(eraseLine)
  }
}

function bar(share: number): string {
  const filled = Math.floor(Math.min(share, 1) * barColumns)
  return '█'.repeat(filled) + '░'.repeat(barColumns - filled)
}
