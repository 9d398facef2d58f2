import type { ChildOfTask, Rows } from '../model/entities.ts'
import { textLength, model } from '../model/model.ts'

export type Children = { [E in ChildOfTask]: Rows[E][] }
type Child = Rows[ChildOfTask]

export const maxMoved = { rows: 5_000, characters: 4_000_000 }
/** The maximum number of children in one event. A child with a longer text has an event of its own. */
const maxInEvent = { rows: 100, characters: 200_000 }

export const noChildren = () =>
  Object.fromEntries(model().ofTask.map(({ name }) => [name, []])) as unknown as Children

export const childEntries = (children: Children): [ChildOfTask, Child][] =>
  model().ofTask.flatMap(({ name }) => children[name].map((row): [ChildOfTask, Child] => [name, row]))

export function exceedsMoveLimit(children: Children): boolean {
  const rows = childEntries(children)
  const characters = rows.reduce((sum, [entity, row]) => sum + textLength(entity, row), 0)
  return rows.length > maxMoved.rows || characters > maxMoved.characters
}

/** Splits children into parts that fit one event each. Without children it returns one empty part. */
export function splitForEvents(children: Children): Children[] {
  const parts = [noChildren()]
  let [rows, characters] = [0, 0]
  for (const [entity, row] of childEntries(children)) {
    const length = textLength(entity, row)
    const isFull = rows === maxInEvent.rows || characters + length > maxInEvent.characters
    if (isFull && rows > 0) {
      parts.push(noChildren())
      rows = characters = 0
    }
    ;(parts.at(-1)![entity] as Child[]).push(row)
    rows++
    characters += length
  }
  return parts
}
