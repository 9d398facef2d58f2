// The page: the form to sign in, the list of projects, and when it draws.
/** @import { UiEvent } from './lib/htm.js' */
/** @import { SignedIn } from './types.js' */
import { Board, Menu } from './board.js'
import { OpenedCard, watchCard } from './card.js'
import { dom, focusOnce, labelled, valuesOf } from './dom.js'
import { keepPage, onKey } from './input.js'
import { render } from './lib/preact.js'
import { effect } from './lib/signals.js'
import { all, request } from './net.js'
import { drafts, messageOf, say, setDraft, shown, signIn, storedAs, ui } from './store.js'
import { leave, leaveProject, openProject, retryNow } from './sync.js'

const [clockMs, noticeMs, errorMs] = [30_000, 6_000, 20_000]
const root = /** @type {HTMLElement} */ (document.getElementById('app'))
let isQueued = false
let drawnFocus = ui.focused.peek()
let hide = setTimeout(() => {}, 0)

function page() {
  const { text, isError } = ui.notice.value
  const isBoard = ui.session.value && ui.projectId.value
  return dom`${!ui.session.value ? SignIn() : isBoard ? Board() : Projects()} ${isBoard && [OpenedCard(), Menu()]}
    <div class=${`notice ${isError && 'is-error'} ${text && 'is-shown'}`}><p role="status">${text}</p></div>`
}

function draw() {
  isQueued = false
  const wanted = ui.focused.peek()
  const hadFocus = document.activeElement !== document.body
  render(page(), root)
  document.title = ui.projectId.peek() && shown.peek() ? `${shown.peek()?.project.name} · Docket` : 'Docket'
  const card = /** @type {HTMLElement | null} */ (document.querySelector(`[data-task="${wanted}"]`))
  // The element with the focus was removed, or a card has moved: then the focus returns to the card.
  const isLost = hadFocus && document.activeElement === document.body
  if ((wanted !== drawnFocus || isLost) && card && !card.contains(document.activeElement)) {
    card.focus({ preventScroll: true })
    card.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }
  drawnFocus = wanted
}

function route() {
  if (!ui.session.peek()) return
  const [, id] = /^#\/projects\/([\w-]+)$/.exec(location.hash) ?? []
  if (id) return openProject(id)
  leaveProject(ui.reason.peek())
  const failed = (/** @type {Error} */ { message }) => void (ui.session.peek() && say(`The projects cannot be read. ${message}`, true))
  all('projects').then((rows) => void (ui.projects.value = rows), failed)
}

const stored = sessionStorage.getItem(storedAs)
if (stored) signIn(JSON.parse(stored))
watchCard()
effect(() => {
  for (const one of Object.values(ui)) void one.value
  // Not an animation frame: a window in the background must follow too.
  if (!isQueued) queueMicrotask(draw)
  isQueued = true
})
effect(() => void (ui.session.value && queueMicrotask(() => (route(), retryNow()))))
effect(() => {
  const { text, isError } = ui.notice.value
  clearTimeout(hide)
  if (text) hide = setTimeout(say, isError ? errorMs : noticeMs, '')
})
addEventListener('hashchange', route)
addEventListener('online', route)
addEventListener('keydown', onKey)
// Browsers decide before the first touch whether a page may prevent scrolling.
root.addEventListener('touchmove', keepPage, { passive: false })
setInterval(() => (ui.now.value = Date.now()), clockMs)
/** @type {(change: Partial<typeof ui.form.value>) => void} */
const set = (change) => void (ui.form.value = { ...ui.form.peek(), ...change })
/** Sends a form. @type {(event: UiEvent, path: string, done: (body: never) => void) => Promise<void>} */
async function submit(event, path, done) {
  event.preventDefault()
  if (ui.form.peek().isBusy) return
  set({ isBusy: true, error: '' })
  try {
    done((await request({ method: 'POST', path, body: valuesOf(event.currentTarget) })).body)
  } catch (error) {
    if (path !== 'projects' || ui.session.peek()) set({ error: messageOf(error) })
  }
  set({ isBusy: false })
}

function SignIn() {
  const { isNew, error, isBusy } = ui.form.value
  const [title, other] = isNew ? ['Create an account', 'Sign in'] : ['Sign in', 'Create an account']
  const done = (/** @type {SignedIn} */ { access_token: token, user }) => (set({ isNew: false }), signIn({ token, user }))
  return dom`<main class="sign-in">
    <form class="panel" aria-labelledby="title" onSubmit=${(event) => submit(event, isNew ? 'auth/register' : 'auth/login', done)}>
      <p class="brand">Docket</p>
      <h1 id="title">${title}</h1>
      ${ui.reason.value && dom`<p class="hint" role="alert">${ui.reason.value}</p>`}
      ${isNew && labelled('Name', dom`<input name="name" required autocomplete="name" maxlength="200" />`)}
      ${labelled('Email', dom`<input name="email" type="email" ref=${focusOnce} required autocomplete="username" maxlength="254" />`)}
      ${labelled('Password', dom`<input name="password" type="password" required autocomplete=${isNew ? 'new-password' : 'current-password'} />`)}
      ${error && dom`<p class="error" role="alert">${error}</p>`}
      <button class="primary" disabled=${isBusy}>${title}</button>
      <button type="button" class="link" onClick=${() => set({ isNew: !isNew, error: '' })}>${other}</button>
    </form>
  </main>`
}

function Projects() {
  const { isNaming, error } = ui.form.value
  const projects = ui.projects.value
  const done = (/** @type {{ id: string }} */ { id }) => (set({ isNaming: false }), setDraft('project', ''), void (location.hash = `#/projects/${id}`))
  const naming = dom`<form class="panel" onSubmit=${(event) => submit(event, 'projects', done)}>
    ${labelled('Name of the project', dom`<input name="name" required maxlength="200" ref=${focusOnce} value=${drafts.get('project')?.text ?? ''} onInput=${(event) => setDraft('project', event.currentTarget.value)} />`)}
    ${error && dom`<p class="error" role="alert">${error}</p>`}
    <div class="buttons"><button class="primary">Create project</button><button type="button" onClick=${() => set({ isNaming: false })}>Cancel</button></div>
  </form>`
  return dom`<div class="page">
    <header class="bar"><p class="brand grow">Docket</p><bdi>${ui.session.value?.user.name}</bdi><button class="quiet" onClick=${leave}>Sign out</button></header>
    <main class="projects">
      <div class="heading"><h1 class="grow">Projects</h1><button class="primary" onClick=${() => set({ isNaming: true, error: '' })}>New project</button></div>
      ${ui.reason.value && dom`<p class="hint" role="alert">${ui.reason.value}</p>`}
      ${isNaming && naming}
      ${projects?.length === 0 && !isNaming && dom`<div class="empty"><h2>No projects yet</h2><p>Create your first project, or ask a colleague to invite you to one.</p></div>`}
      <ul class="project-list">${projects?.map(({ id, name, description }) => dom`<li key=${id}><a href=${`#/projects/${id}`}><bdi>${name}</bdi><small dir="auto">${description}</small></a></li>`)}</ul>
    </main>
  </div>`
}
