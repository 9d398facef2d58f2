// What the page knows: one signal for each part. Views read the signals, actions write them.
/** @import { Card, Conflict, Draft, Past, Session, State, Status, Undo, Write } from './types.js' */
import { computed, effect, signal } from './lib/signals.js'
import { credentials } from './net.js'
import { columnsOf, inOrder, matches, withWrites } from './rules.js'

export const storedAs = 'docket-session'
const noFilter = { text: '', label: '', assignee: '', ready: false }
const newId = () => signal(/** @type {string | null} */ (null)) // Ids of tasks or of the project, or null.
export const ui = {
  session: signal(/** @type {Session | null} */ (null)),
  reason: signal(''), // Shown above the form to sign in, and above the list of projects.
  projectId: newId(),
  projects: signal(/** @type {{ id: string, name: string, description: string | null }[] | null} */ (null)),
  live: signal(/** @type {State | null} */ (null)),
  isLoading: signal(false),
  isStreaming: signal(false),
  isOnline: signal(true),
  writes: signal(/** @type {Write[]} */ ([])),
  undos: signal(/** @type {Undo[]} */ ([])),
  past: signal(/** @type {Past | null} */ (null)),
  filter: signal(noFilter),
  limits: signal(/** @type {Record<Status, number>} */ ({ TODO: 100, IN_PROGRESS: 100, DONE: 100 })), // The number of cards that each column renders.
  focused: newId(),
  dragged: newId(),
  opened: newId(),
  editing: newId(), // The task whose title is edited on the board, or the column with the form for a new card.
  card: signal(/** @type {Card | null} */ (null)),
  conflict: signal(/** @type {Conflict | null} */ (null)),
  menu: signal(/** @type {{ id: string, x: number, y: number, isMove?: boolean } | null} */ (null)),
  notice: signal({ text: '', isError: false }),
  now: signal(Date.now()),
  draftChanges: signal(0),
  form: signal({ isNew: false, isNaming: false, isBusy: false, error: '' }),
}

export const shown = computed(() => ui.past.value?.state ?? ui.live.value) // The state that the board shows.
export const tasks = computed(() => ui.past.value?.state.tasks ?? withWrites(ui.live.value?.tasks ?? new Map(), ui.writes.value))
export const ordered = computed(() => inOrder(tasks.value))
export const whole = computed(() => columnsOf(ordered.value)) // The columns without the filter.
export const columns = computed(() => {
  if (Object.values(ui.filter.value).every((value) => !value)) return whole.value
  return columnsOf(ordered.value.filter(matches(ui.filter.value, tasks.value, me.value, ui.now.value)))
})
const me = computed(() => ui.session.value?.user.id ?? '')
/** The names of the owner and the members by the ids of their accounts. */
export const people = computed(() => {
  const { project, members } = shown.value ?? {}
  const rows = [{ userId: project?.ownerId ?? '', user: project?.owner }, ...(members?.values() ?? [])]
  return new Map(rows.map(({ userId, user }) => [userId, user?.name ?? 'A deleted account']))
})
export const isViewer = computed(() => {
  const { project, members } = ui.live.value ?? {}
  const role = [...(members?.values() ?? [])].find(({ userId }) => userId === me.value)?.role
  return project?.ownerId !== me.value && (role ?? 'VIEWER') === 'VIEWER'
})
export const isReadOnly = computed(() => isViewer.value || ui.past.value !== null)

/** Texts that are being typed, by the names of their fields. They outlive the forms, also when the person must sign in again. @type {Map<string, Draft>} */
export const drafts = new Map()
/** Changes a draft and draws again; an empty text deletes the draft. @type {(name: string, text: string, from?: { base: string, tag: string }) => void} */
export function setDraft(name, text, from) {
  if (text || from) drafts.set(name, { ...(drafts.get(name) ?? from ?? { base: '', tag: '' }), text })
  else drafts.delete(name)
  ui.draftChanges.value++
}

export const say = (/** @type {string} */ text, isError = false) => void (ui.notice.value = { text, isError }) // Shows a message, which screen readers announce.
export const messageOf = (/** @type {unknown} */ error) => (error instanceof Error ? error.message : String(error))
export const ignore = () => {} // For promises of writes: the person was told of the error.
/** Waits until a condition on signals is true. @type {(test: () => boolean) => Promise<void>} */
export const until = (test) =>
  new Promise((resolve) => {
    const stop = effect(() => void (test() && queueMicrotask(() => (stop(), resolve()))))
  })

let lastUser = ''
/** The drafts and waiting writes of another account are deleted. */
export function signIn(/** @type {Session} */ session) {
  if (lastUser !== session.user.id) forget()
  lastUser = session.user.id
  credentials.token = session.token
  sessionStorage.setItem(storedAs, JSON.stringify(session))
  ui.reason.value = ''
  ui.session.value = session
}
/** Leads to the form to sign in. Drafts and waiting writes stay. */
export function signOut(reason = 'Your session has ended. Sign in again to go on.') {
  sessionStorage.removeItem(storedAs)
  credentials.token = ''
  ui.reason.value = reason
  ui.session.value = null
}
credentials.ended = signOut
export function forget() {
  drafts.clear()
  closeProject()
  ui.projects.value = null
}
export function closeProject() {
  const { live, past, opened, card, conflict, editing, menu, focused } = ui
  for (const one of [live, past, opened, card, conflict, editing, menu, focused]) one.value = null
  ui.writes.value = ui.undos.value = []
  ui.filter.value = noFilter
}
