import type { ChildOfTask, Rows } from '../model/entities.ts'
import { textLength, model } from '../model/model.ts'

export type Children = { [E in ChildOfTask]: Rows[E][] }
type Child = Rows[ChildOfTask]

/** The children that move with a task, at most. */
export const mostMoved = { rows: 5_000, characters: 4_000_000 }
/** The children in one event, at most; a longer text goes alone. */
const mostInEvent = { rows: 100, characters: 200_000 }

export const noChildren = () =>
  Object.fromEntries(model().ofTask.map(({ name }) => [name, []])) as unknown as Children

export const eachOf = (children: Children): [ChildOfTask, Child][] =>
  model().ofTask.flatMap(({ name }) => children[name].map((row): [ChildOfTask, Child] => [name, row]))

export function isTooMuch(children: Children): boolean {
  const rows = eachOf(children)
  const characters = rows.reduce((sum, [entity, row]) => sum + textLength(entity, row), 0)
  return rows.length > mostMoved.rows || characters > mostMoved.characters
}

/** The children in parts that fit one event each; one empty part if there are none. */
export function inParts(children: Children): Children[] {
  const parts = [noChildren()]
  let [rows, characters] = [0, 0]
  for (const [entity, row] of eachOf(children)) {
    const length = textLength(entity, row)
    const isFull = rows === mostInEvent.rows || characters + length > mostInEvent.characters
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
