// The texts that people read about tasks, times and events.
/** @import { ProjectEvent, State } from './types.js' */
import { isDate, isSystem } from './rules.js'

/** @type {Record<string, string>} */ export const statusNames = { TODO: 'To do', IN_PROGRESS: 'In progress', DONE: 'Done' }
export const priorityNames = { HIGH: 'High', MEDIUM: 'Medium', LOW: 'Low' }
/** A right-to-left name must not turn its sentence. @type {(text: unknown) => string} */ const isolated = (text) =>
  String(text).replace(/^.*[\u0590-\u08ff\u202a-\u202e\u2066-\u2069\ud802\ud803\ud83a\ud83b\ufb1d-\ufdff\ufe70-\ufefc].*$/s, '\u2068$&\u2069')
export const numberOf = (/** @type {number} */ number) => (number ? `#${number}` : '#…') // A task that the service has not stored yet has the number 0.
export const shortName = (/** @type {{ number: number, title: string }} */ { number, title }) =>
  `${number ? `#${number} ` : ''}${isolated(title.length > 60 ? `${[...title].slice(0, 60).join('')}…` : title)}`
const days = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })
const times = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' })
export const timeOf = (/** @type {string} */ at) => times.format(new Date(at))
export const dateOf = (/** @type {string} */ at) => (isDate(at) ? days.format(new Date(at)) : timeOf(at))
/** @type {Record<string, string>} */
const fieldNames = { assigneeId: 'assignee', labelIds: 'labels', blockedByIds: 'blockers', dueDate: 'due date' }
/** @type {Record<string, string>} */
const verbs = { created: 'added', updated: 'changed', ready: 'recorded as ready', due: 'recorded as due' }

/** Describes an event as a sentence without a full stop. @type {(event: ProjectEvent, state: State | null) => string} */
export function describe({ type, entity, entityId, taskId, actor, undoes, before, after }, state) {
  const name = type.split('.')[1] ?? type
  const verb = name === 'updated' && after?.position && !after.status ? 'moved' : (verbs[name] ?? name.replaceAll('_', ' '))
  const own = /** @type {Record<string, unknown>} */ ({ ...state?.tasks.get(taskId ?? entityId), ...(entity === 'task' && { ...before, ...after }) })
  const task = own.number ? shortName({ number: Number(own.number), title: String(own.title) }) : 'a task'
  const label = after?.title ?? before?.title ?? after?.name ?? before?.name ?? ''
  const row = `the ${entity.replaceAll('_', ' ')}${label ? ` ${isolated(label)}` : ''}${taskId ? ` of ${task}` : ''}`
  const who = isSystem(actor) ? 'Docket' : isolated(actor.name ?? 'A deleted account')
  return `${who} ${verb} ${entity === 'task' ? task : row}${before && after ? changesOf(after) : ''}${undoes ? ', as an undo' : ''}`
}
function changesOf(/** @type {Record<string, unknown>} */ { status, completed, ...after }) {
  if (status) return ` to ${statusNames[String(status)]}`
  if (completed !== undefined) return completed ? ': done' : ': not done'
  const names = Object.keys(after).filter((name) => !['updatedAt', 'position', 'claim'].includes(name))
  return names.length > 0 ? `: ${names.map((name) => fieldNames[name] ?? name).join(', ')}` : ''
}
