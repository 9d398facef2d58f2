import { jsonText } from './text.ts'
import { type Column, tableLines } from './table.ts'

export interface Stream {
  isTTY?: boolean
  columns?: number
  write(text: string | Uint8Array, done?: (error?: Error | null) => void): boolean
}

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 }
type Style = keyof typeof codes

/** Writes to standard output or standard error. Styles appear only on a terminal, and not if NO_COLOR is set. */
export class Output {
  readonly isTerminal: boolean
  readonly hasStyles: boolean

  constructor(
    private readonly stream: Stream,
    env: Record<string, string | undefined>,
  ) {
    this.isTerminal = stream.isTTY === true
    this.hasStyles = this.isTerminal && !env.NO_COLOR && env.TERM !== 'dumb'
  }

  /** The width of the terminal in columns; unlimited for a pipe or a file. */
  get width(): number {
    return this.isTerminal ? this.stream.columns || 80 : Infinity
  }

  style(style: Style, text: string): string {
    return this.hasStyles ? `\u001b[${codes[style]}m${text}\u001b[0m` : text
  }

  /** Resolves when the stream has accepted the text, so that the command waits for a slow reader. */
  write(text: string | Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.stream.write(text, (error) => (error ? reject(error) : resolve()))
    })
  }

  line(text = ''): Promise<void> {
    return this.write(`${text}\n`)
  }

  json(value: unknown): Promise<void> {
    return this.line(jsonText(value, this.isTerminal ? 2 : undefined))
  }

  async table<Row>(rows: Row[], columns: Column<Row>[]): Promise<void> {
    if (rows.length === 0) return
    const [titles = '', ...lines] = tableLines(rows, columns, this.width)
    await this.line([this.style('bold', titles), ...lines].join('\n'))
  }
}
