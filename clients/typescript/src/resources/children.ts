import type { Calls } from '../calls/calls.ts'
import { children } from '../declarations.ts'

type Children = typeof children
type Plural = keyof Children

/** Returns the methods of a list of children of tasks. @param noun the name of the child, such as `Subtask` */
const openList = <P extends Plural, Noun extends Children[P]>(calls: Calls, plural: P, noun: Noun) => ({
  create: calls.write(`create${noun}`, `POST /tasks/{taskId}/${plural}`),
  list: calls.list(`list${capital(plural)}`, `GET /tasks/{taskId}/${plural}`),
  update: calls.writeById(`update${noun}`, `PATCH /tasks/${plural}/{id}`),
  delete: calls.byId(`delete${noun}`, `DELETE /tasks/${plural}/{id}`),
})

const capital = <Name extends string>(name: Name) =>
  (name.charAt(0).toUpperCase() + name.slice(1)) as Capitalize<Name>

type Lists = { [P in Plural]: ReturnType<typeof openList<P, Children[P]>> }

/** Returns the methods of the children of tasks, by the names of their lists. */
export function openChildren(calls: Calls) {
  const lists = Object.entries(children).map(([plural, noun]) => [
    plural,
    openList(calls, plural as Plural, noun),
  ])
  const all = Object.fromEntries(lists) as Lists
  /** Inverts `completed`. */
  const toggle = calls.byId('toggleSubtask', 'PATCH /tasks/subtasks/{id}/toggle')
  return { ...all, subtasks: { ...all.subtasks, toggle } }
}
