import type { ChildOfTask, Rows } from '../../drizzle/entities.ts'

/** What hangs on a task, by the names of its lists. */
export type Children = { [E in ChildOfTask as `${E}s`]: Rows[E][] }

/** The lists of a task, each with what it is a list of. */
const listed: { [E in ChildOfTask as `${E}s`]: E } = { subtasks: 'subtask', comments: 'comment' }
export const lists = Object.entries(listed) as [keyof Children, ChildOfTask][]

/** What goes with a task into another project, at most. */
export const mostMoved = { rows: 5_000, characters: 4_000_000 }
/** What of it one event carries; a longer text goes alone. */
const mostInEvent = { rows: 100, characters: 200_000 }

export function isTooMuch({ subtasks, comments }: Children): boolean {
  const rows = [...subtasks, ...comments]
  const characters = rows.reduce((sum, row) => sum + lengthOf(row), 0)
  return rows.length > mostMoved.rows || characters > mostMoved.characters
}

/** The same in parts that fit one event each, in their order; one that is empty where there is nothing. */
export function inParts(children: Children): Children[] {
  const parts = [empty()]
  let [rows, characters] = [0, 0]
  for (const [list] of lists) {
    for (const row of children[list]) {
      const length = lengthOf(row)
      const isFull = rows === mostInEvent.rows || characters + length > mostInEvent.characters
      if (isFull && rows > 0) {
        parts.push(empty())
        rows = characters = 0
      }
      ;(parts.at(-1)![list] as unknown[]).push(row)
      rows++
      characters += length
    }
  }
  return parts
}

const empty = (): Children => ({ subtasks: [], comments: [] })

export const lengthOf = (row: Rows[ChildOfTask]): number => ('text' in row ? row.text : row.title).length
