import { cut } from './texts.ts'

const maxMessageCharacters = 2_000
const maxKeptCharacters = 200
const maxDescription = 20_000
const maxFoot = 10_000
const separator = '\n\n---\n'

/** Collects the messages of a row for the report, and the lines at the foot of the task's description. */
export class Notes {
  private readonly messages: string[]
  /** All lines at the foot of the description. The report lists those in `reported`. */
  readonly foot: string[] = []
  private readonly reported: string[] = []

  constructor(messages: string[] = []) {
    this.messages = [...messages]
  }

  report(message: string): void {
    this.messages.push(message)
  }

  /** Adds a line to the foot of the description. @param reason a message for the report */
  addToFoot(line: string, reason?: string): void {
    this.foot.push(line)
    this.reported.push(cut(line.replace(/\s+/g, ' '), maxKeptCharacters))
    if (reason) this.report(reason)
  }

  /** The message of the row's line in the report; empty if the row is imported exactly. */
  get message(): string {
    return cut(this.messages.join('. '), maxMessageCharacters)
  }

  /** Returns the description with its foot; undefined if both are empty. Call this after all notes of a task. */
  describe(description = ''): string | undefined {
    const described = this.withFoot(description.trim())
    if (this.reported.length > 0) this.report(`At the foot of the description: ${this.reported.join('; ')}`)
    return described
  }

  private withFoot(body: string): string | undefined {
    if (this.foot.length === 0 && body.length <= maxDescription) return body || undefined
    const foot = cut(this.foot.join('\n'), maxFoot)
    const end = foot && (body ? separator + foot : foot)
    const maxBody = maxDescription - end.length
    const fitting = cut(body, maxBody)
    if (fitting !== body) this.report(`The description was cut at ${maxBody} characters`)
    if (foot !== this.foot.join('\n'))
      this.report(`The foot of the description was cut at ${maxFoot} characters`)
    return fitting + end
  }
}
