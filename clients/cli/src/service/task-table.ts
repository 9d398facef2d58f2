import type { Docket, Task } from '../../../typescript/src/index.ts'
import type { Cli } from '../cli.ts'
import { usersOf } from './find.ts'

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
  await cli.out.table(rows, [
    { title: 'PROJECT', value: (task) => (projectId ? '' : nameOf(task.projectId)), isFlexible: true },
    { title: '#', value: ({ number }) => number },
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'PRIORITY', value: ({ priority }) => priority },
    { title: 'DUE', value: ({ dueDate }) => dueDate?.replace(/T00:00:00.000Z$/, '') },
    { title: 'ASSIGNEE', value: ({ assigneeId }) => nameOf(assigneeId), isFlexible: true },
    { title: 'CLAIM', value: ({ claim }) => claim?.by.name, isFlexible: true },
    { title: 'LABELS', value: ({ labelIds }) => labelIds.map(nameOf).join(', '), isFlexible: true },
    { title: 'TITLE', value: ({ title }) => title, isFlexible: true },
  ])
  if (rows.length === 0) await cli.err.line('No tasks')
}
