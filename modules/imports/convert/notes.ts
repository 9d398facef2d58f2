import { maxDescription } from '../../tasks/schema.ts'
import { cut } from './texts.ts'

const maxMessageCharacters = 2_000
const maxKeptCharacters = 200
/** The maximum number of characters of the lines at the foot of a description. */
export const maxFoot = 10_000
const separator = '\n\n---\n'

/** Keeps the first texts only: a row may have hundreds of thousands, and the result is cut at `max` code points. */
export class Texts {
  readonly texts: string[] = []
  private characters = 0

  constructor(private readonly max: number) {}

  add(text: string): void {
    // A code point has one or two UTF-16 code units.
    if (this.characters > 2 * this.max) return
    this.texts.push(text)
    this.characters += text.length + 1
  }
}

/** Collects the messages of a row for the report, and the lines at the foot of the task's description. */
export class Notes {
  private readonly messages = new Texts(maxMessageCharacters)
  /** All lines at the foot of the description. The report lists those in `reported`. */
  private readonly foot = new Texts(maxFoot)
  private readonly reported = new Texts(maxMessageCharacters)

  constructor(messages: string[] = []) {
    for (const message of messages) this.report(message)
  }

  report(message: string): void {
    this.messages.add(message)
  }

  /** Adds lines to the foot of the description. The report has these lines in other rows. */
  addReported(lines: string[]): void {
    for (const line of lines) this.foot.add(line)
  }

  /** Adds a line to the foot of the description. @param reason a message for the report */
  addToFoot(line: string, reason?: string): void {
    this.foot.add(line)
    this.reported.add(cut(line.replace(/\s+/g, ' '), maxKeptCharacters))
    if (reason) this.report(reason)
  }

  /** The message of the row's line in the report; empty if the row is imported exactly. */
  get message(): string {
    return cut(this.messages.texts.join('. '), maxMessageCharacters)
  }

  /** Returns the description with its foot; undefined if both are empty. Call this after all notes of a task. */
  describe(description = ''): string | undefined {
    const described = this.withFoot(description.trim())
    const reported = this.reported.texts.join('; ')
    if (reported) this.report(`At the foot of the description: ${reported}`)
    return described
  }

  private withFoot(body: string): string | undefined {
    const wholeFoot = this.foot.texts.join('\n')
    if (!wholeFoot && body.length <= maxDescription) return body || undefined
    const foot = cut(wholeFoot, maxFoot)
    const end = foot && (body ? separator + foot : foot)
    const maxBody = maxDescription - end.length
    const fitting = cut(body, maxBody)
    if (fitting !== body) this.report(`The description was cut at ${maxBody} characters`)
    if (foot !== wholeFoot) this.report(`The foot of the description was cut at ${maxFoot} characters`)
    return fitting + end
  }
}
