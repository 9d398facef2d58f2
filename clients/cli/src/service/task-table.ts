import type { Docket, Task } from '../../../typescript/src/index.ts'
import type { Cli } from '../cli.ts'
import { usersOf } from './find.ts'
import { type TaskField, taskFields } from './task-body.ts'

const columns = taskFields.filter(({ isInLists }) => isInLists)

/** Prints a table of tasks. @param projectId undefined if the tasks may be in several projects */
export async function printTasks(cli: Cli, docket: Docket, rows: Task[], projectId?: string): Promise<void> {
  const [users, labels, projects] = await Promise.all([
    projectId && rows.some(({ assigneeId }) => assigneeId) ? usersOf(docket, projectId) : [],
    projectId && rows.some(({ labelIds }) => labelIds.length > 0)
      ? docket.labels.list({ projectId }).all()
      : [],
    projectId || rows.length === 0 ? [] : docket.projects.list().all(),
  ])
  const names = new Map([...users, ...labels, ...projects].map(({ id, name }) => [id, name]))
  const nameOf = (id: string | null) => (id ? (names.get(id) ?? id) : '')
  const columnOf = ({ name, option, kind }: TaskField) => ({
    title: option.toUpperCase(),
    value: (task: Task) => {
      const value = task[name as 'title'] as string | number | string[] | null
      if (Array.isArray(value)) return value.map(nameOf).join(', ')
      if (kind === 'user') return nameOf(value as string | null)
      return typeof value === 'string' ? value.replace(/T00:00:00.000Z$/, '') : value
    },
    isFlexible: kind === 'user' || kind === 'labels',
  })
  await cli.out.table(rows, [
    { title: 'PROJECT', value: (task) => (projectId ? '' : nameOf(task.projectId)), isFlexible: true },
    { title: '#', value: ({ number }) => number },
    ...columns.filter(({ kind }) => kind !== 'labels').map(columnOf),
    { title: 'CLAIM', value: ({ claim }) => claim?.by.name, isFlexible: true },
    ...columns.filter(({ kind }) => kind === 'labels').map(columnOf),
    { title: 'TITLE', value: ({ title }) => title, isFlexible: true },
  ])
  if (rows.length === 0) await cli.err.line('No tasks')
}
