import { eventually } from '../races/pair.ts'
import { type Body, type Client, invite, make, type Person, register } from '../support/client.ts'
import { linesOf } from './scene.ts'

const future = '2999-01-31T17:00:00.000Z'
const long = (text: string, length: number) => text.repeat(length).slice(0, length)

/** Creates a project with everything that an export contains. `bea` is a member; another member deletes her account. */
export async function makeEverything(ada: Person, bea: Person): Promise<string> {
  const description = 'All wheels.\n\n---\nIn brass'
  const { id: projectId } = await make(ada, '/projects', {
    name: 'Engine',
    description,
    textEdits: 'if-match',
  })
  const former = await register(ada.as(), 'Gone')
  for (const person of [bea, former]) await invite(ada, projectId, person, 'EDITOR')
  const labelIds = await makeLabels(ada, projectId)
  await makeFields(ada, projectId)
  const tasks = await makeTasks(ada, projectId, bea.id, labelIds)
  const taskOfFormer = await make(former, '/tasks', { projectId, title: 'Of a deleted account' })
  await make(former, `/tasks/${taskOfFormer.id}/comments`, { text: 'Farewell' })
  const ofBea = await make(bea, '/tasks', { projectId, title: 'Written by Bea', externalId: 'JIRA-7' })
  for (const person of [ada, bea, ada])
    await make(person, `/tasks/${ofBea.id}/comments`, { text: '=1+1\n\n  Über "brass" 🎡' })
  await makeSubtasks(ada, ofBea.id)
  await ada.patch(`/tasks/${tasks[4]!.id}`, { blockedByIds: [tasks[1]!.id] })
  await ada.delete(`/tasks/${tasks[1]!.id}`)
  await ada.delete(`/labels/${labelIds[3]}`)
  const [size] = (await ada.get(`/projects/${projectId}/fields`)).body
  await ada.patch(`/fields/${size!.id}`, { options: ['large', 'small'] })
  // The order of the project is no longer the order of the numbers.
  await ada.patch(`/tasks/${ofBea.id}`, { place: 'first' })
  await ada.patch(`/tasks/${tasks[5]!.id}`, { after: tasks[0]!.id })
  await ada.patch(`/tasks/${tasks[0]!.id}`, { addBlockedByIds: [ofBea.id, tasks[6]!.id] })
  await former.call('DELETE', '/auth/me', { password: 'secret-1' })
  await eventually('the end of the deleted membership', async () => {
    const { body } = await ada.get(`/projects/${projectId}/members`)
    return body.length === 1
  })
  return projectId
}

async function makeLabels(ada: Person, projectId: string): Promise<string[]> {
  const ids: string[] = []
  for (const label of [
    { name: 'zinc', color: '#D73A4a' },
    { name: 'Brass, "old"' },
    { name: 'unused', color: '#000000' },
    { name: 'deleted' },
  ])
    ids.push((await make(ada, `/projects/${projectId}/labels`, label)).id)
  return ids
}

async function makeFields(ada: Person, projectId: string): Promise<void> {
  for (const field of [
    { key: 'size', name: 'Größe', type: 'choice', options: ['small', 'large', 'removed'] },
    { key: 'note', name: 'Note', type: 'text' },
    { key: 'cost', name: 'Cost', type: 'number' },
    { key: 'safe', name: 'Safe', type: 'boolean' },
    { key: 'cast', name: 'Cast on', type: 'date' },
    { key: 'unused', name: 'Unused', type: 'text' },
  ])
    await make(ada, `/projects/${projectId}/fields`, field)
}

async function makeTasks(ada: Person, projectId: string, beaId: string, labelIds: string[]): Promise<Body[]> {
  const fields = { size: 'large', note: "'=a\nb", cost: -0.125, safe: false, cast: '1837-12-26' }
  const tasks = [
    {
      title: '\'=Oil, the "wheels"',
      description: 'In ink,\r\n\twith 🎡',
      status: 'DONE',
      priority: 'LOW',
      fields,
    },
    { title: 'Deleted' },
    { title: long('x🎡', 600).slice(0, 499), description: long('long ', 20_000).trim() },
    { title: 'Dates', dueDate: '1999-12-31', remindAt: future, assigneeId: beaId, priority: 'HIGH' },
    {
      title: 'Labels',
      labelIds: [labelIds[1], labelIds[3], labelIds[0]],
      fields: { size: 'removed' },
      status: 'IN_PROGRESS',
      assigneeId: ada.id,
    },
    { title: 'Moved', dueDate: future, fields: { safe: true, cost: 1e21 } },
    { title: 'Same', externalId: 'docket:other' },
    // A client may choose an id with an early time.
    { title: 'Same', id: '00000000-0000-7000-8000-' + Date.now().toString(16).padStart(12, '0') },
  ]
  const made: Body[] = []
  for (const task of tasks) made.push(await make(ada, '/tasks', { projectId, ...task }))
  return made
}

async function makeSubtasks(ada: Person, taskId: string): Promise<void> {
  for (const title of ['Zeal', 'Apply', '=Apply', 'Apply']) {
    const { id } = await make(ada, `/tasks/${taskId}/subtasks`, { title })
    if (title === 'Zeal') await ada.patch(`/tasks/subtasks/${id}`, { completed: true })
  }
}

interface Import extends Body {
  state: string
  error: string
  startedAt: string
  mapping: { columns?: Record<string, string | null> }
  counts: Record<'read' | 'created' | 'updated' | 'unchanged' | 'rejected', number>
}

/** Imports a file, and waits until the import is done or has failed. */
export async function runImport(
  client: Client,
  projectId: string,
  file: string,
  parameters: string,
): Promise<Import> {
  const path = `/projects/${projectId}/imports?${parameters}`
  const { status, text, body } = await client.call('POST', path, file, { 'content-type': 'text/plain' })
  if (status !== 202) throw new Error(`The import answered ${status} ${text}`)
  let last = body as unknown as Import
  await eventually('the end of the import', async () => {
    last = (await client.get(`/imports/${body.id}`)).body as unknown as Import
    return last.state === 'done' || last.state === 'failed'
  })
  return last
}

/** Imports a file. @throws unless the import is done */
export async function importInto(
  client: Client,
  projectId: string,
  file: string,
  parameters = 'source=docket',
): Promise<Import> {
  const last = await runImport(client, projectId, file, parameters)
  if (last.state !== 'done') throw new Error(JSON.stringify(last))
  return last
}

const removed = 'updatedAt position projectId claim version exportedAt ownerId owner lines'.split(' ')

/** Returns the lines without ids, the project's name and owner, and times of changes. References are line numbers. */
export function examined(text: string): Record<string, unknown>[] {
  const lines = linesOf(text).filter(({ kind }) => kind !== 'member' && kind !== 'view')
  const places = new Map(lines.map(({ id, kind }, n) => [id, `${kind} in line ${n}`]))
  const placed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(placed)
    if (typeof value !== 'object' || value === null) return places.get(value) ?? value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, placed(one)]))
  }
  return lines.map(({ project, ...line }) => {
    const { description } = (project ?? {}) as Body
    const rest = Object.fromEntries(Object.entries(line).filter(([key]) => !removed.includes(key)))
    const { id: _, assigneeId: __, author, ...row } = rest
    const { id: ___, ...person } = (author ?? {}) as Body
    return { ...(placed(row) as object), author: person, ...(project !== undefined && { description }) }
  })
}
