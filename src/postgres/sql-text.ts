import type { Row } from 'postgres'
import type { Sql, SqlPart } from './database.ts'

class TextPart {
  constructor(
    readonly strings: readonly string[],
    readonly args: unknown[] = [],
  ) {}
}

const template = (strings: readonly string[], ...args: unknown[]) => new TextPart(strings, args)

/**
 * Builds the parts of a query for `runText`. A part of `sql` costs more, because it is a promise. Does not quote
 * identifiers.
 */
export const sqlText = Object.assign(template, {
  unsafe: (text: string) => new TextPart([text]),
}) as unknown as Sql

/** @param part from `sqlText` */
export function runText<R extends Row>(sql: Sql, part: SqlPart) {
  const values: never[] = []
  return sql.unsafe<R[]>(textOf(part as unknown as TextPart, values), values, { prepare: true })
}

function textOf({ strings, args }: TextPart, values: unknown[]): string {
  let text = strings[0]!
  for (const [n, arg] of args.entries())
    text += (arg instanceof TextPart ? textOf(arg, values) : `$${values.push(arg)}`) + strings[n + 1]
  return text
}
