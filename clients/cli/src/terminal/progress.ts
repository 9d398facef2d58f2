import type { Output } from './output.ts'

const barColumns = 24
const eraseLine = '\r\u001b[K'

export interface Progress {
  /** @param total absent if the end is not known */
  show(done: number, total?: number): void
  /** Removes the bar. */
  end(): void
}

/** Returns a progress bar on standard error, which only a terminal shows. */
export function openProgress(output: Output, what: string): Progress {
  let isShown = false
  return {
    show(done, total) {
      if (!output.isTerminal) return
      isShown = true
      const count = total === undefined ? `${done}` : `${bar(done / total)} ${done}/${total}`
      void output.write(`${eraseLine}${count} ${what}`)
    },
    end() {
      if (isShown) void output.write(eraseLine)
      isShown = false
    },
  }
}

function bar(share: number): string {
  const filled = Math.floor(Math.min(share, 1) * barColumns)
  return '█'.repeat(filled) + '░'.repeat(barColumns - filled)
}
