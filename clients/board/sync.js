// Keeps the board and the service the same: sends writes, and follows the feed of the open project.
/** @import { Answer, Change, ProjectEvent, Write } from './types.js' */
import { get, newId, readStream, request, RequestError } from './net.js'
import { apply, emptyState, lacksIds } from './rules.js'
import { closeProject, forget, say, signOut, ui } from './store.js'

const maxWaitingWrites = 50
const maxQueuedWrites = 1_000 // The limit while the service answers.
const [maxPauseMs, maxEvents] = [5_000, 20_000]
/** @type {{ write: Write, settle: PromiseWithResolvers<Answer> }[]} */ const queue = []
/** The events that the page has received, by their seqs. @type {Map<number, ProjectEvent>} */
export const events = new Map()
/** Called after each event. @type {Set<(event: ProjectEvent) => void>} */ export const listeners = new Set()
let isSending = false
let current = new AbortController()
let endPauses = new AbortController()

/** Waits until a time that grows with the failures, or until the connection is back. @type {(failures: number, ms?: number) => Promise<void>} */
const pause = (failures, ms = 0) =>
  new Promise((resolve) => {
    setTimeout(resolve, Math.max(ms, Math.min(maxPauseMs, 250 * 2 ** failures) * (0.5 + Math.random() / 2)))
    endPauses.signal.addEventListener('abort', () => resolve())
  })
export function retryNow() {
  endPauses.abort()
  endPauses = new AbortController()
  void send()
}

/** Shows a write, and sends it after the earlier writes until the service has answered. @type {(change: Change) => Promise<Answer>} @throws RequestError after the write was put back and the person was told */
export function write(change) {
  const limit = ui.isOnline.peek() ? maxQueuedWrites : maxWaitingWrites
  if (queue.length >= limit) {
    const error = new RequestError(0, `${limit} changes wait for the connection already.`)
    say(`Not done: ${change.about}. ${error.message}`, true)
    return Promise.reject(error)
  }
  const one = { ...change, key: newId(), since: ui.live.peek()?.version ?? 0 }
  const settle = /** @type {PromiseWithResolvers<Answer>} */ (Promise.withResolvers())
  ui.writes.value = [...ui.writes.peek(), one]
  queue.push({ write: one, settle })
  void send()
  return settle.promise
}
const drop = (/** @type {Write} */ one) => void (ui.writes.value = ui.writes.peek().filter((other) => other !== one))
async function send() {
  if (isSending) return
  isSending = true
  for (let failures = 0; queue[0] && ui.session.peek();) {
    const { write: one, settle } = queue[0]
    // The write is of a project that was closed, or of another account.
    const answer = !ui.writes.peek().includes(one) ? null : await request(one).catch((/** @type {RequestError} */ error) => error)
    if (answer instanceof RequestError) {
      if (answer.isTemporary) {
        if (answer.status !== 429) ui.isOnline.value = false
        await pause(failures++, answer.retryAfterMs)
      } else if (answer.status !== 401) await rejected(one, answer, settle)
      continue
    }
    queue.shift()
    failures = 0
    if (ui.isStreaming.peek()) ui.isOnline.value = true
    if (!answer) continue
    accepted(one, answer)
    settle.resolve(answer)
  }
  isSending = false
}

/** @type {(one: Write, error: RequestError, settle: PromiseWithResolvers<Answer>) => Promise<void>} */
async function rejected(one, error, settle) {
  const other = await Promise.resolve(one.recover?.(error)).catch(() => undefined)
  if (other) {
    Object.assign(one, other, { key: newId() })
    ui.writes.value = [...ui.writes.peek()]
    return
  }
  queue.shift()
  drop(one)
  if (one.about && other !== null) say(`Not done: ${one.about}. ${error.message}`, true)
  settle.reject(error)
}

/** The first 36 characters inside the ETag of a task are the id of its last event. @type {(one: Write, answer: Answer) => void} */
function accepted(one, { etag, body }) {
  const { number = 0 } = /** @type {{ number?: number }} */ (body)
  one.isAnswered = true
  if (etag) one.eventId = etag.slice(1, 37)
  if (one.patch && number) one.patch = { ...one.patch, number }
  ui.writes.value = [...ui.writes.peek()]
  const event = events.values().find((event) => isResult(event, one))
  if (event) return confirm(event, one)
  const known = Object.entries(ui.live.peek()?.tasks.get(one.taskId ?? '') ?? {})
  const isSame = known.length > 0 && known.every(([name, value]) => JSON.stringify(value) === JSON.stringify(body[name]))
  // Nothing has changed, so no event will come.
  if (isSame || (!one.eventId && !one.removes)) drop(one)
}
/** @type {(event: ProjectEvent, write: Write) => boolean} */
const isResult = ({ seq, id, entityId, after }, { since, eventId, removes, isAnswered }) =>
  isAnswered === true && seq > since && (id === eventId || (entityId === removes && after === null))
/** @type {(event: ProjectEvent, write: Write) => void} */ function confirm({ seq, actor }, one) {
  drop(one)
  // A write that changed nothing has the ETag of an earlier event.
  const isKnown = ui.undos.peek().some(({ body }) => 'seq' in body && body.seq === seq)
  if (!one.isUndo && !isKnown && actor.id === ui.session.peek()?.user.id) ui.undos.value = [...ui.undos.peek(), { about: one.about, body: { seq } }]
}
export function remember(/** @type {ProjectEvent[]} */ some) {
  for (const event of some) events.set(event.seq, event)
  for (const seq of events.keys()) if (events.size > maxEvents) events.delete(seq)
}
export function openProject(/** @type {string} */ projectId) {
  if (ui.projectId.peek() !== projectId) leaveProject()
  current.abort()
  current = new AbortController()
  ui.projectId.value = projectId
  void follow(projectId, current.signal)
}

export async function leave() {
  await request({ method: 'POST', path: 'auth/logout' }).catch(() => {})
  forget()
  signOut('')
}

export function leaveProject(reason = '') {
  current.abort()
  closeProject()
  events.clear()
  ui.projectId.value = null
  ui.isOnline.value = true
  ui.reason.value = reason
}

/** @type {(projectId: string, signal: AbortSignal) => Promise<void>} */ async function follow(projectId, signal) {
  for (let failures = 0; !signal.aborted; failures++) {
    const onOpen = () => {
      failures = 0
      ui.isStreaming.value = ui.isOnline.value = true
      retryNow()
    }
    const error = await read(projectId, signal, onOpen).catch((/** @type {RequestError} */ error) => error)
    ui.isStreaming.value = false
    if (signal.aborted) return
    const status = error?.status
    if (status === 401) return signOut()
    if (status === 403 || status === 404) {
      leaveProject('This project does not exist, or you are not a member of it.')
      return location.replace('#/')
    }
    // The events have expired, or a failover has lost them.
    if (status === 400 || status === 410) ui.live.value = null
    else if (failures > 0) ui.isOnline.value = false
    if (failures > 0) await pause(failures, error?.retryAfterMs)
  }
}

/** Reads a snapshot if the board has none, then events until the stream ends. @type {(projectId: string, signal: AbortSignal, onOpen: () => void) => Promise<void>} */
async function read(projectId, signal, onOpen) {
  const live = ui.isLoading.peek() ? null : ui.live.peek()
  ui.isLoading.value = !live
  const path = `projects/${projectId}`
  const next = emptyState(live?.project ?? (await get(path)).body, 0)
  const answered = ui.writes.peek().filter(({ isAnswered }) => isAnswered)
  const onMessage = (/** @type {string} */ event, /** @type {string} */ text) => {
    const data = JSON.parse(text)
    if (event === 'end') throw new RequestError(data.statusCode, data.message)
    if (event === 'snapshot') {
      const { tasks, labels, members } = next
      const table = { tasks, labels, members }[/** @type {string} */ (data.kind)]
      for (const row of data.rows) table?.set(row.id, row)
      // The first cards are shown while the others arrive.
      if (!ui.live.peek()?.version) ui.live.value = { ...next }
    } else if (event === 'live') {
      next.version = next.since = data.version
      for (const one of answered) drop(one)
      ui.isLoading.value = false
      ui.live.value = { ...next }
    } else if (data.seq && !received(data)) throw new RequestError(410, 'The board needs a new snapshot.')
  }
  await readStream(`${path}/events?snapshot=tasks,labels,members`, live?.version, signal, onOpen, onMessage)
}

/** Returns false if the board must read a new snapshot. */
function received(/** @type {ProjectEvent} */ event) {
  const live = ui.live.peek()
  if (!live || event.seq <= live.version) return true
  if (event.seq !== live.version + 1 || lacksIds(live, event)) return false
  apply(live, event)
  remember([event])
  ui.live.value = { ...live, labels: event.entity === 'label' ? new Map(live.labels) : live.labels } // Cards compare the labels.
  for (const one of ui.writes.peek()) if (isResult(event, one)) confirm(event, one)
  for (const listener of listeners) listener(event)
  return true
}
addEventListener('offline', () => void (ui.projectId.peek() && (ui.isOnline.value = false)))
