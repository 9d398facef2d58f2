// What a person does to the tasks of the board, and to its past.
/** @import { Change, Place, ProjectEvent, State, Status, Task } from './types.js' */
import { all, get, newId } from './net.js'
import { copyOf, emptyState, keyAfter, splitLater, statuses, walk } from './rules.js'
import { columns, drafts, ignore, isReadOnly, messageOf, ordered, say, setDraft, tasks, ui, until, whole } from './store.js'
import { events, remember, write } from './sync.js'
import { describe, shortName, statusNames, timeOf } from './words.js'

let placed = 0
/** Changes a task, and shows the change at once. @type {(task: Task, body: object, patch: Partial<Task>, what: string, more?: Partial<Change>) => Promise<unknown>} */
export function change(task, body, patch, what, more) {
  const about = `${what} of ${shortName(task)}`
  return write({ method: 'PATCH', path: `tasks/${task.id}`, body, taskId: task.id, patch, about, ...more })
}

/** @type {(id: string, place: Place) => void} */ export function move(id, place) {
  const task = tasks.peek().get(id)
  if (isReadOnly.peek()) return say('Not moved: the board is read-only.', true)
  if (!task) return say('Not moved: the task of this card was deleted or moved away meanwhile.', true)
  const { status } = place
  const others = whole.peek()[status].filter((other) => other.id !== id)
  const near = place.before ?? place.after
  const isGone = near !== undefined && !others.some((other) => other.id === near)
  const { at, body, patch } = near === undefined || isGone ? placeIn(status, others) : placeIn(status, others, place)
  if (whole.peek()[status][at]?.id === id) return say(`${shortName(task)} stays in its place.`)
  const gone = `The card beside this place is gone: ${shortName(task)} is now at the end of ${statusNames[status]}.`
  const recover = (/** @type {Error & { status: number }} */ error) => {
    if (error.status !== 409 || !error.message.includes('not in the project')) return undefined
    const rest = whole.peek()[status].filter((other) => other.id !== id && other.id !== near)
    say(gone)
    return placeIn(status, rest)
  }
  say(isGone ? gone : `${shortName(task)} moved to ${statusNames[status]}, ${at + 1} of ${others.length + 1}.`)
  void change(task, body, patch, 'the move', { recover }).catch(ignore)
}

/** Returns the index in the column, the request, and the sort key until the feed delivers the stored key; without a place for the end. @type {(status: Status, others: Task[], place?: Omit<Place, 'status'>) => { at: number, body: object, patch: Partial<Task> }} */
function placeIn(status, others, { before, after } = { after: others.at(-1)?.id, before: undefined }) {
  const near = before ?? after
  if (near === undefined) return { at: 0, body: { status }, patch: { status } }
  const index = ordered.peek().findIndex((other) => other.id === near)
  const position = keyAfter(ordered.peek()[before ? index - 1 : index]?.position ?? '', ++placed)
  const at = others.findIndex((other) => other.id === near) + (before ? 0 : 1)
  return { at, body: { status, ...(before ? { before } : { after }) }, patch: { status, position } }
}

/** Moves a card by one place or one column, as the board shows them. @type {(id: string, key: string) => void} */
export function carry(id, key) {
  const { status } = tasks.peek().get(id) ?? {}
  if (!status) return
  const step = /Left|Up/.test(key) ? -1 : 1
  const at = columns.peek()[status].findIndex((other) => other.id === id)
  const near = columns.peek()[status][at + step]?.id
  const beside = statuses[statuses.indexOf(status) + step]
  if (/Left|Right/.test(key)) return beside && move(id, { status: beside, before: columns.peek()[beside][at]?.id })
  if (near) move(id, { status, ...(step < 0 ? { before: near } : { after: near }) })
}

/** @type {(title: string, status: Status) => void} */ export function create(title, status) {
  const [id, projectId] = [newId(), ui.projectId.peek() ?? '']
  const position = `~${String(++placed).padStart(9, '0')}` // Sorts after every stored key.
  /** @type {Partial<Task>} */ const patch = {
    ...{ id, projectId, title, status, position, number: 0, priority: 'MEDIUM', description: null },
    ...{ dueDate: null, assigneeId: null, claim: null, labelIds: [], blockedByIds: [] },
  }
  const body = { id, projectId, title, status }
  const name = shortName({ number: 0, title })
  say(`${name} was added to ${statusNames[status]}.`)
  void write({ method: 'POST', path: 'tasks', body, taskId: id, patch, about: `the new card ${name}` }).catch(ignore)
}

/** Deletes a task, and leads the focus to the next card. @type {(task: Task) => void} */ export function remove(task) {
  const rows = columns.peek()[task.status]
  ui.focused.value = (rows[rows.indexOf(task) + 1] ?? rows.at(-2))?.id ?? null
  if (ui.opened.peek() === task.id) ui.opened.value = null
  say(`${shortName(task)} was deleted.`)
  void change(task, {}, {}, 'the deletion', { method: 'DELETE', body: undefined, patch: null, removes: task.id }).catch(ignore)
}

export async function addExamples() {
  const titles = ['Drag this card to another column', 'Press ? to learn the keys', 'Move the slider below to see the past']
  const body = { operations: titles.map((title) => ({ op: 'task.create', title })) }
  const about = 'three example tasks'
  const answer = await write({ method: 'POST', path: `projects/${ui.projectId.peek()}/batch`, body, about })
  const { batch } = /** @type {{ batch: number }} */ (answer.body)
  ui.undos.value = [...ui.undos.peek(), { about, body: { batch } }]
}

/** Begins or goes on with an edit of a text, from the text and the ETag that the person sees. @type {(task: Task, field: 'title' | 'description', text: string) => void} */
export function editText(task, field, text) {
  const card = ui.card.peek()
  setDraft(`${task.id}:${field}`, text, { base: task[field] ?? '', tag: card?.id === task.id ? card.tag : '' })
}

/** Saves a text if it is still the text from which the edit began; otherwise the card shows both texts. @type {(task: Task, field: 'title' | 'description') => Promise<void>} */
export async function saveText(task, field) {
  const name = `${task.id}:${field}`
  const { text = '', base = '', tag = '' } = drafts.get(name) ?? {}
  const wanted = text.trim()
  if (wanted === base || (field === 'title' && !wanted)) return setDraft(name, '')
  const isUnchanged = async () => {
    const { body, etag } = await get(`tasks/${task.id}`)
    const theirs = /** @type {Task} */ (body)[field] ?? ''
    if (theirs === base) return { ifMatch: etag ?? '' }
    ui.opened.value = task.id
    ui.conflict.value = { field, theirs, tag: etag ?? '' }
    say(`The ${field} of ${shortName(task)} was changed meanwhile. The card shows both texts.`, true)
    return null
  }
  const recover = (/** @type {{ status: number }} */ { status }) => (status === 412 ? isUnchanged() : undefined)
  const first = tag ? { ifMatch: tag } : await isUnchanged().catch(() => ({ ifMatch: '"unknown"' }))
  if (!first) return
  const fields = { [field]: wanted || null }
  await change(task, fields, { [field]: wanted }, `the ${field}`, { ...first, recover })
  setDraft(name, '')
}

/** @type {(task: Task, isMine: boolean) => Promise<void>} */ export async function resolveConflict(task, isMine) {
  const { field = 'title', theirs = '', tag = '' } = ui.conflict.peek() ?? {}
  const name = `${task.id}:${field}`
  const text = drafts.get(name)?.text ?? ''
  ui.conflict.value = null
  setDraft(name, '')
  if (isMine) setDraft(name, text, { base: theirs, tag })
  if (isMine) await saveText(task, field)
}

/** Undoes the last own change of this window. */
export async function undo() {
  if (isReadOnly.peek()) return
  if (!ui.isOnline.peek()) say('The undo waits for the connection.')
  await until(() => ui.writes.value.every(({ isUndo }) => isUndo))
  const entry = ui.undos.peek().at(-1)
  if (!entry) return say('There is nothing to undo in this window.')
  const { body, about } = entry
  ui.undos.value = ui.undos.peek().slice(0, -1)
  try {
    await write({ method: 'POST', path: `projects/${ui.projectId.peek()}/undo`, body, about: '', isUndo: true })
    say(`Undone: ${about}.`)
  } catch (error) {
    const message = messageOf(error)
    const seqs = (/ by seq ([\d, ]+)/.exec(message)?.[1]?.split(', ', 3) ?? []).map(Number)
    for (const seq of seqs) await readEvents(seq, seq).catch(ignore)
    const later = seqs.flatMap((seq) => events.get(seq) ?? [])
    const names = later.map((event) => `${describe(event, ui.live.peek())} (change ${event.seq})`).join('; ')
    say(`Not undone: ${about}. ${names ? `Later changes are in the way: ${names}.` : message}`, true)
  }
}

export const maxLaterEvents = 10_000 // The limits of the service: for reads in the past, for an undo, and for a page.
const [maxUndone, eventsPerPage] = [500, 500]
let wanted = 0 // The version where the slider is; 0 for now.
let isLoading = false
export function leavePast() {
  wanted = 0
  ui.past.value = null
}
/** Shows a version, or the last version that was asked for meanwhile. */
export async function showVersion(/** @type {number} */ version) {
  if (version >= (ui.live.peek()?.version ?? 0)) return leavePast()
  wanted = version
  if (isLoading) return
  isLoading = true
  try {
    while (wanted > 0 && wanted !== ui.past.peek()?.version) await load(wanted)
  } catch (error) {
    say(`Version ${wanted} cannot be shown. ${messageOf(error)}`, true)
  }
  isLoading = false
}

/** Goes event by event from the nearest known state. A far version is read from the service. */
async function load(/** @type {number} */ version) {
  const [live, past] = [ui.live.peek(), ui.past.peek()?.state]
  if (!live) return leavePast()
  const distance = (/** @type {State} */ state) => Math.abs(state.version - version)
  const near = past && distance(past) < distance(live) ? past : live
  const isNear = distance(near) <= eventsPerPage
  await readEvents(isNear ? Math.min(near.version, version) : version, isNear ? Math.max(near.version, version) : version)
  const copy = copyOf(near)
  const state = isNear && walk(copy, version, (seq) => events.get(seq)) ? copy : await readState(version)
  if (wanted === 0 || ui.live.peek()?.project.id !== live.project.id) return
  const event = /** @type {ProjectEvent} */ (events.get(version))
  ui.past.value = { version, state, at: timeOf(event.at), about: describe(event, state) }
}

/** Reads the events that the page does not have. @type {(from: number, to: number) => Promise<void>} */
async function readEvents(from, to) {
  for (let seq = from; seq <= to; seq++)
    if (!events.has(seq)) remember((await get(`projects/${ui.projectId.peek()}/events?after=${seq - 1}&limit=${eventsPerPage}`)).body)
}

async function readState(/** @type {number} */ version) {
  const path = `projects/${ui.projectId.peek()}`
  const at = `asOf=${version}`
  const state = emptyState((await get(`${path}?${at}`)).body, version)
  const fill = async (/** @type {Map<string, object>} */ table, /** @type {string} */ list) => {
    for (const row of /** @type {{ id: string }[]} */ (await all(list))) table.set(row.id, row)
  }
  const lists = [fill(state.labels, `${path}/labels?${at}`), fill(state.members, `${path}/members?${at}`)]
  await Promise.all([...lists, fill(state.tasks, `tasks?projectId=${ui.projectId.peek()}&${at}`)])
  return state
}

/** Returns why the project cannot return to the shown version. */
export function reasonAgainst() {
  const count = (ui.live.value?.version ?? 0) - (ui.past.value?.version ?? 0)
  return count > maxUndone ? `${count} later changes: one undo takes back at most ${maxUndone}.` : ''
}

/** Undoes all later changes in one batch. */
export async function restore() {
  const [version, last] = [ui.past.peek()?.version ?? 0, ui.live.peek()?.version ?? 0]
  if (version === 0 || reasonAgainst()) return
  try {
    await readEvents(version + 1, last)
    const later = Array.from({ length: last - version }, (_, n) => events.get(version + 1 + n))
    const { undone, left } = splitLater(later.filter((event) => event !== undefined))
    const stay = left.length > 0 ? ` ${left.length} recorded events, such as the ends of claims, were left out.` : ''
    if (undone.length === 0) return say(`There is nothing to undo after version ${version}.${stay}`)
    const body = { seqs: undone.map(({ seq }) => seq) }
    const answer = await write({ method: 'POST', path: `projects/${ui.projectId.peek()}/undo`, body, about: '', isUndo: true })
    const [first] = /** @type {{ changes: ProjectEvent[] }} */ (answer.body).changes
    const undo = first?.batch ? { batch: first.batch } : { seq: first?.seq ?? 0 }
    if (first) ui.undos.value = [...ui.undos.peek(), { about: `the return to version ${version}`, body: undo }]
    leavePast()
    say(`The project is as it was at version ${version}: ${undone.length} later changes were undone.${stay}`)
  } catch (error) {
    const event = events.get(Number(/^Seq (\d+)/.exec(messageOf(error))?.[1]))
    const named = event ? `Change ${event.seq} is in the way: ${describe(event, ui.live.peek())}. ` : ''
    say(`Nothing was undone. ${named}${messageOf(error)}`, true)
  }
}
