import type { Output } from './output.ts'

const barColumns = 24
const eraseLine = '\r\u001b[K'

/** @param total undefined if the number is unknown */
type Show = (done: number, total?: number) => void

/** Runs work with a progress bar. Shows the bar only on a terminal, and erases the bar at the end of the work. */
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
