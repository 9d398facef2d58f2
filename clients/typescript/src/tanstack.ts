import type { ChangeMessageOrDeleteKeyMessage, CollectionConfig, SyncConfig } from '@tanstack/db'
import { taskFields } from './declarations.ts'
import type { BuildBatch } from './batch/batch.ts'
import type { Docket } from './docket.ts'
import { PreconditionRequiredError } from './errors.ts'
import { etagOf } from './etags.ts'
import type { Mirror } from './feed/mirror.ts'
import type { Task } from './schemas.ts'

export interface DocketCollectionOptions {
  docket: Docket
  projectId: string
  /** The id of the collection; by default `docket-tasks-<projectId>`. */
  id?: string
}

type Write = ChangeMessageOrDeleteKeyMessage<Task, string>

/**
 * Returns the options of `createCollection` for the tasks of a project. In a transaction, all inserts are one batch, all
 * updates are another batch, and all deletes are a third. The optimistic state ends when the mirror has reached the batch.
 */
export function docketCollection({
  docket,
  projectId,
  id = `docket-tasks-${projectId}`,
}: DocketCollectionOptions) {
  const project = docket.project(projectId)
  let mirror: Mirror | undefined
  const send = async (build: BuildBatch): Promise<void> => {
    const { version } = await project.batch(build)
    await mirror?.reach(version)
  }
  const sync: SyncConfig<Task, string>['sync'] = ({ begin, write, commit, markReady, markError }) => {
    const stop = new AbortController()
    const current = (mirror = project.mirror({ signal: stop.signal }))
    const keys = new Set<string>()
    current.subscribe(({ ids }) => {
      begin()
      for (const one of ids.flatMap((key) => writeOf(current, keys, key))) write(one)
      void commit()
    })
    current.ready.then(markReady, () => {})
    current.ended.catch(markError)
    return () => stop.abort()
  }
  return {
    id,
    getKey: (task) => task.id,
    sync: { sync, rowUpdateMode: 'full' },
    onInsert: ({ transaction: { mutations } }) =>
      send((b) => mutations.forEach(({ modified: { projectId: _, ...task } }) => b.task.create(task))),
    onUpdate({ transaction: { mutations } }) {
      const update = (etags?: Map<string, string>) =>
        send((b) =>
          mutations.forEach(({ key, original, changes }) =>
            b.task.update({ ...changesOf(original, changes), id: key, ifMatch: etags?.get(key) }),
          ),
        )
      return update().catch(async (error: unknown) => {
        if (!(error instanceof PreconditionRequiredError)) throw error
        return update(await etagsOfTexts(docket, mutations, error))
      })
    },
    onDelete: ({ transaction: { mutations } }) =>
      send((b) => mutations.forEach(({ key }) => b.task.delete({ id: key }))),
  } satisfies CollectionConfig<Task, string>
}

function writeOf(mirror: Mirror, keys: Set<string>, key: string): Write[] {
  const value = mirror.get(key)
  if (!value) return keys.delete(key) ? [{ type: 'delete', key }] : []
  const type = keys.has(key) ? 'update' : 'insert'
  keys.add(key)
  return [{ type, value }]
}

/** Returns the ETags of tasks by id. @throws `error` if a text to change differs from the text that the collection showed */
async function etagsOfTexts(docket: Docket, edits: TextEdit[], error: Error): Promise<Map<string, string>> {
  const etags = new Map<string, string>()
  for (const { key, original, changes } of edits) {
    const task = await docket.tasks.get(key)
    const isStale = (name: 'title' | 'description') => name in changes && task[name] !== original[name]
    if (isStale('title') || isStale('description')) throw error
    etags.set(key, etagOf(task)!)
  }
  return etags
}

interface TextEdit {
  key: string
  original: Task
  changes: Partial<Task>
}

/** Sends null for a removed custom field, because an update does not change absent custom fields. */
function changesOf(original: Task, changes: Partial<Task>) {
  const { fields, ...others } = changes
  if (!fields) return others
  const removed = Object.keys(original.fields).filter((key) => !(key in fields))
  return { ...others, fields: { ...Object.fromEntries(removed.map((key) => [key, null])), ...fields } }
}

const defaults = Object.fromEntries(taskFields.map((field) => [field.name, field.default]))

/** Returns a task for `collection.insert`, with a new id and the default values; the service sets the other fields. */
export function newTask(given: Partial<Task> & Pick<Task, 'title' | 'projectId'>): Task {
  const now = new Date().toISOString()
  return {
    ...{ id: newId(), number: 0, createdAt: now, updatedAt: now, claim: null, attempts: 0 },
    importedAuthor: null,
    // Sorts after all positions, because the service places a new task last.
    position: '~',
    ...(structuredClone(defaults) as unknown as Pick<Task, (typeof taskFields)[number]['name']>),
    ...{ fields: {}, ...given },
  }
}

let last = 0

/** Returns a UUIDv7 (RFC 9562, 5.7) that sorts after all earlier ones: 48 bits of milliseconds and a counter of 12 bits. */
function newId(): string {
  last = Math.max(Date.now() * 0x1000, last + 1)
  const time = last.toString(16).padStart(15, '0')
  const bytes = Array.from(crypto.getRandomValues(new Uint8Array(8)))
  const random = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return `${time.slice(0, 8)}-${time.slice(8, 12)}-7${time.slice(12)}-8${random.slice(0, 3)}-${random.slice(3, 15)}`
}
