import { maxDescription } from '../../tasks/schema.ts'
import { cut } from './texts.ts'

const maxMessageCharacters = 2_000
const maxKeptCharacters = 200
/** The maximum number of characters of the lines at the foot of a description. */
const maxFoot = 10_000
const separator = '\n\n---\n'

/**
 * Appends a text, unless `all` already has `max` characters: a row may have hundreds of thousands of texts. A character
 * has one or two UTF-16 code units.
 */
function append(all: string, between: string, text: string, max: number): string {
  if (all.length > 2 * max) return all
  return all && text ? all + between + text : all || text
}

/** Collects the messages of a row for the report, and the lines at the foot of the task's description. */
export class Notes {
  private messages = ''
  /** All lines at the foot of the description. The report lists those in `reported`. */
  private foot = ''
  private reported = ''

  constructor(messages: string[] = []) {
    for (const message of messages) this.report(message)
  }

  report(message: string): void {
    this.messages = append(this.messages, '. ', message, maxMessageCharacters)
  }

  /** Adds a line to the foot of the description, which the report has in another row. */
  addReported(line: string): void {
    this.foot = append(this.foot, '\n', line, maxFoot)
  }

  /** Adds a line to the foot of the description. @param reason a message for the report */
  addToFoot(line: string, reason = ''): void {
    this.addReported(line)
    const kept = cut(line.replace(/\s+/g, ' '), maxKeptCharacters)
    this.reported = append(this.reported, '; ', kept, maxMessageCharacters)
    this.report(reason)
  }

  /** The message of the row's line in the report; empty if the row is imported exactly. */
  get message(): string {
    return cut(this.messages, maxMessageCharacters)
  }

  /** Returns the description with its foot; undefined if both are empty. Call this after all notes of a task. */
  describe(description = ''): string | undefined {
    const described = this.withFoot(description.trim())
    if (this.reported) this.report(`At the foot of the description: ${this.reported}`)
    return described
  }

  private withFoot(body: string): string | undefined {
    if (!this.foot && body.length <= maxDescription) return body || undefined
    const foot = cut(this.foot, maxFoot)
    const end = foot && (body ? separator + foot : foot)
    const maxBody = maxDescription - end.length
    const fitting = cut(body, maxBody)
    if (fitting !== body) this.report(`The description was cut at ${maxBody} characters`)
    if (foot !== this.foot) this.report(`The foot of the description was cut at ${maxFoot} characters`)
    return fitting + end
  }
}
