import { cut } from './texts.ts'

const maxMessageCharacters = 2_000
const maxDescription = 20_000
const maxFoot = 10_000
const separator = '\n\n---\n'

/** What the report lists for a row, and the lines at the foot of the task's description. */
export class Notes {
  private readonly messages: string[]
  readonly foot: string[] = []

  constructor(messages: string[] = []) {
    this.messages = [...messages]
  }

  list(message: string): void {
    this.messages.push(message)
  }

  /** Adds a line to the foot of the description. @param reason for the report. Default: the line */
  keep(line: string, reason?: string): void {
    this.foot.push(line)
    this.list(reason ?? `Kept in the description: ${line}`)
  }

  /** The message of the row's line in the report; empty if the row is imported exactly. */
  get message(): string {
    return cut(this.messages.join('; '), maxMessageCharacters)
  }

  /** Returns the description with its foot; undefined without both. */
  describe(description = ''): string | undefined {
    const body = description.trim()
    if (this.foot.length === 0 && body.length <= maxDescription) return body || undefined
    const foot = cut(this.foot.join('\n'), maxFoot)
    const end = foot && (body ? separator + foot : foot)
    const maxBody = maxDescription - end.length
    const fitting = cut(body, maxBody)
    if (fitting !== body) this.list(`The description was cut at ${maxBody} characters`)
    if (foot !== this.foot.join('\n'))
      this.list(`The notes in the description were cut at ${maxFoot} characters`)
    return fitting + end
  }
}
