import { responseExample } from '../../src/openapi/example.ts'
import { claimSchema } from '../tasks/claim.ts'
import { model } from '../modules.ts'
import { eventView } from './schema.ts'

type Fields = Record<string, unknown>

const claim = responseExample(claimSchema)

const changes: Record<string, [before: Fields, after: Fields]> = {
  'project.updated': [{ name: 'Engine' }, { name: 'Analytical Engine' }],
  'member.role_set': [{ role: 'VIEWER' }, { role: 'EDITOR' }],
  'task.updated': [{ status: 'TODO' }, { status: 'DONE' }],
  'task.claimed': [{ claim: null }, { claim }],
  'task.released': [{ claim }, { claim: null }],
  'task.claim_expired': [{ claim }, { claim: null }],
  'task.reminded': [{ remindAt: '2027-01-31T17:00:00.000Z' }, { remindAt: null }],
  'task.due': [{ updatedAt: '2027-01-15T09:30:00.000Z' }, { updatedAt: '2027-01-31T17:00:00.400Z' }],
  'subtask.updated': [{ title: 'Sharpen the pencil' }, { title: 'Sharpen both pencils' }],
  'subtask.toggled': [{ completed: false }, { completed: true }],
  'comment.updated': [{ text: 'In brass' }, { text: 'In brass, please' }],
  'webhook.updated': [{ enabled: true }, { enabled: false, changed: ['enabled'] }],
}

const creationVerbs = ['created', 'invited', 'moved_in']
const deletionVerbs = ['deleted', 'removed', 'moved_out']

export function eventExamples(): Record<string, { value: object[] }> {
  const { undoes: _, ...common } = responseExample(eventView.schema) as Fields
  return Object.fromEntries(
    model.all.flatMap(({ name, events, view }) => {
      const row = responseExample(view.schema) as Fields
      return Object.keys(events).map((verb) => {
        const type = `${name}.${verb}`
        const [before, after] = sidesOf(type, verb, row)
        return [type, { value: [{ ...common, type, entity: name, before, after }] }]
      })
    }),
  )
}

function sidesOf(type: string, verb: string, row: Fields): [Fields | null, Fields | null] {
  if (creationVerbs.includes(verb)) return [null, row]
  if (deletionVerbs.includes(verb)) return [row, null]
  if (verb === 'unassigned') return [{ assigneeId: row.assigneeId }, { assigneeId: null }]
  return changes[type] ?? anyChange(row)
}

function anyChange(row: Fields): [Fields, Fields] {
  const [field = '', value] =
    Object.entries(row).find(([, one]) => typeof one === 'string' && one !== row.id) ?? []
  return [{ [field]: `${String(value)} (old)` }, { [field]: value }]
}
