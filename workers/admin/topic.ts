import type { Config } from '../../src/config.ts'
import type { Sql } from '../../src/postgres/database.ts'

/** What a verb works with. */
export interface Errand {
  config: Config
  sql: Sql
}

/** One thing that an operator may do; answers what to print. */
export interface Verb {
  /** The words it takes: `<needed>`, `[or not]`. */
  takes: string
  does: string
  /** @throws Wrong */
  run(errand: Errand, ...words: string[]): Promise<string>
}

/**
 * Things of one kind, and what may be done about them by its verb; the first is what is done when none is said. A topic
 * that is a verb itself has the one named by no word.
 */
export type Topic = Record<string, Verb>

/** What was asked for cannot be done, and why. */
export class Wrong extends Error {}

export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/** Rows as lines with their columns below each other. */
export function table(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]!.length)))
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** A line's text, whatever it came from: no escape of a terminal, and no end of it. */
export const plain = (text: string): string => text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
