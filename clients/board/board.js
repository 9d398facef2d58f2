// The board: header, filter, columns, cards and their menu, the slider to the past.
/** @import { CardProps, Filter, Place, Status, Task } from './types.js' */
import * as actions from './actions.js'
import { avatar, chip, dom, focusOnce, icon, textForm } from './dom.js'
import { showHelp, startPress } from './input.js'
import { Component } from './lib/preact.js'
import { isClaimed, isOverdue, openBlockers, statuses } from './rules.js'
import { columns, drafts, ignore, isReadOnly, isViewer, people, setDraft, shown, tasks, ui, whole } from './store.js'
import { leave } from './sync.js'
import { dateOf, numberOf, priorityNames, statusNames, timeOf } from './words.js'

const step = 100 // The number of further cards that a column renders on demand.
export function Board() {
  const { live, past, isLoading, isOnline, writes } = ui
  const isEmpty = tasks.value.size === 0 && !isLoading.value && !isReadOnly.value && !ui.editing.value
  const waiting = writes.value.length > 0 ? `${writes.value.length} of your changes wait. They are sent when it is back.` : 'Connecting again …'
  const band = !isOnline.value && dom`<p id="offline-band" class="band"><b>Connection lost.</b> ${waiting}</p>`
  if (!live.value) return dom`<main class="page" aria-busy="true">${band}<p class="none">Loading the board …</p></main>`
  return dom`<div class=${past.value ? 'page in-past' : 'page'}>
    ${header()}
    ${band}
    ${filters()}
    <main id="columns" class="columns" aria-busy=${isLoading.value}>
      ${statuses.map(column)}
      ${isEmpty && empty}
    </main>
    ${slider()}
  </div>`
}

const empty = dom`<div class="empty">
  <h2>This board is empty</h2>
  <p>Add the first card, or begin with three examples.</p>
  <div class="buttons">
    <button class="primary" onClick=${() => (ui.editing.value = 'TODO')}>Add a card</button>
    <button onClick=${() => actions.addExamples().catch(ignore)}>Add three example tasks</button>
  </div>
</div>`

function header() {
  const { undos, writes, session } = ui
  const hasUndo = !isReadOnly.value && (undos.value.length > 0 || writes.value.some(({ isUndo }) => !isUndo))
  const out = `Sign out ${session.value?.user.name ?? ''}`
  return dom`<header class="bar">
    <a class="back" href="#/" aria-label="Docket: all projects">${icon('back')}<span class="brand">Docket</span></a>
    <h1 class="grow"><bdi>${shown.value?.project.name}</bdi></h1>
    <button id="undo" disabled=${!hasUndo} title="Undo your last change (Ctrl+Z)" onClick=${actions.undo}>${icon('undo')}<span>Undo</span></button>
    <button class="primary" disabled=${isReadOnly.value} title="New card (n)" onClick=${() => (ui.editing.value = 'TODO')}>${icon('plus')}<span>New card</span></button>
    <button class="quiet square" aria-label="Help" title="Help (?)" onClick=${showHelp}>${icon('help')}</button>
    <button class="quiet square" aria-label=${out} title=${out} onClick=${leave}>${icon('out')}</button>
  </header>`
}

function filters() {
  const { text, label, assignee, ready } = ui.filter.value
  const set = (/** @type {Partial<Filter>} */ change) => void (ui.filter.value = { ...ui.filter.peek(), ...change })
  const option = (/** @type {string} */ id, /** @type {string} */ name) => dom`<option key=${id} value=${id}>${name}</option>`
  return dom`<search class="filters">
    <input id="filter" type="search" placeholder="Filter cards" aria-label="Filter cards" value=${text} onInput=${(event) => set({ text: event.currentTarget.value })} />
    <select aria-label="Label" value=${label} onChange=${(event) => set({ label: event.currentTarget.value })}>
      ${option('', 'All labels')}${[...(shown.value?.labels.values() ?? [])].map(({ id, name }) => option(id, name))}
    </select>
    <select aria-label="Assignee" value=${assignee} onChange=${(event) => set({ assignee: event.currentTarget.value })}>
      ${option('', 'Everybody')}${option('none', 'Nobody')}${[...people.value].map(([id, name]) => option(id, name))}
    </select>
    <label class="toggle"><input type="checkbox" checked=${ready} onChange=${() => set({ ready: !ready })} />Ready</label>
    ${(text || label || assignee || ready) && dom`<button class="link" onClick=${() => set({ text: '', label: '', assignee: '', ready: false })}>Clear</button>`}
  </search>`
}

function column(/** @type {Status} */ status) {
  const { limits, focused, editing, past, now } = ui
  const rows = columns.value[status]
  const total = whole.value[status].length
  const limit = limits.value[status]
  const stop = rows.some(({ id }) => id === focused.value) ? focused.value : rows[0]?.id
  const name = statusNames[status]
  const count = rows.length === total ? total : `${rows.length} of ${total}`
  return dom`<section key=${status} class="column" data-column=${status} aria-label=${`${name}: ${count}`}>
    <header><i class=${`dot ${status}`}></i><h2>${name}</h2><span class="count grow">${count}</span>
      ${!isReadOnly.value && dom`<button class="quiet square" aria-label=${`New card in ${name}`} title="New card" onClick=${() => (editing.value = status)}>${icon('plus')}</button>`}
    </header>
    <div class="cards">
      ${rows.slice(0, limit).map(
        (task) => dom`<${BoardCard} key=${task.id} task=${task} tasks=${task.blockedByIds.length > 0 ? tasks.value : null}
          labels=${shown.value?.labels} person=${people.value.get(task.assigneeId ?? '')} now=${past.value ? 0 : now.value}
          isStop=${task.id === stop} isDragged=${task.id === ui.dragged.value} isReadOnly=${isReadOnly.value}
          isEdited=${task.id === editing.value && !isReadOnly.value} hasMenu=${ui.menu.value?.id === task.id} />`,
      )}
      ${rows.length === 0 && total > 0 && dom`<p class="none">No card matches the filter.</p>`}
      ${rows.length > limit && dom`<button onClick=${() => (limits.value = { ...limits.value, [status]: limit + step })}>Show ${Math.min(step, rows.length - limit)} more of ${rows.length - limit}</button>`}
      ${editing.value === status && !isReadOnly.value && newCard(status)}
    </div>
  </section>`
}

function newCard(/** @type {Status} */ status) {
  const name = `new card ${ui.projectId.peek()}`
  const text = drafts.get(name)?.text ?? ''
  const close = () => (setDraft(name, ''), (ui.editing.value = null))
  const save = () => (text.trim() ? actions.create(text.trim(), status) : close(), setDraft(name, ''))
  const label = `Title of the new card in ${statusNames[status]}`
  const input = (/** @type {string} */ text) => setDraft(name, text)
  return dom`<div class="card new">${textForm({ label, text, max: 500, rows: 2, button: 'Add card', input, save, cancel: close, ref: focusOnce })}</div>`
}

function slider() {
  const { version = 1 } = ui.live.value ?? {}
  const past = ui.past.value
  const value = past?.version ?? version
  const text = past ? `Version ${value} of ${version}, ${past.at}` : `Version ${version}, now`
  const reason = past ? actions.reasonAgainst() : ''
  const restorer = dom`<button id="restore" disabled=${reason !== ''} aria-describedby=${reason && 'reason'} onClick=${actions.restore}>Restore to here</button>`
  const band =
    past &&
    dom`<div id="past-band" class="band">
    <p class="grow"><b>Read-only: version ${value}, ${past.at}.</b> <span>${past.about}</span></p>
    ${reason && dom`<p id="reason">${reason}</p>`}${!isViewer.value && restorer}<button class="primary" onClick=${actions.leavePast}>Back to now</button>
  </div>`
  return dom`<footer class="past">
    ${band}
    <div class="slider">
      <span class="name">${icon('clock')}<span>History</span></span>
      <input id="past" type="range" aria-label="Version of the project" min=${Math.max(1, version - actions.maxLaterEvents)} max=${version} value=${value} aria-valuetext=${text} onInput=${(event) => actions.showVersion(event.currentTarget.valueAsNumber)} />
      <span class="moment"><b>${value}</b><span>${past ? past.at : 'Now'}</span></span>
    </div>
  </footer>`
}
const [menuWidthPx, menuHeightPx] = [180, 250]
/** Draws only when a property changes: a board has hundreds of cards. @extends {Component<CardProps>} */
export class BoardCard extends Component {
  shouldComponentUpdate(/** @type {CardProps} */ next) {
    const names = /** @type {(keyof CardProps)[]} */ (Object.keys(next))
    return this.props.isEdited || names.some((name) => next[name] !== this.props[name])
  }

  render(/** @type {CardProps} */ props) {
    const { task, isStop, isDragged, isEdited, hasMenu } = props
    const { id, number, title, priority } = task
    const stop = isStop ? 0 : -1
    const open = (/** @type {{ target: EventTarget | null }} */ { target }) =>
      /** @type {Element} */ (target).closest('button, textarea') ?? (ui.opened.value = id)
    const menu = dom`<button class="quiet square" tabindex=${stop} aria-label=${`Actions for ${numberOf(number)}`} aria-haspopup="menu" aria-expanded=${hasMenu} onClick=${(event) => openMenu(event.currentTarget, id)}>${icon('more')}</button>`
    return dom`<article class=${isDragged ? 'card dragged' : 'card'} data-task=${id} tabindex=${stop} aria-label=${`${numberOf(number)} ${title}`}
      onPointerDown=${(event) => startPress(event, id)} onFocus=${() => (ui.focused.value = id)} onClick=${open}>
      <div class="top"><span class="number">${numberOf(number)}</span>
        <span class=${`priority ${priority}`} title="Priority">${icon(priority)}${priorityNames[priority]}</span><i class="grow"></i>
        ${!props.isReadOnly && menu}
      </div>
      ${isEdited ? titleEditor(task) : dom`<p class="title" dir="auto">${title}</p>`}
      ${details(props)}
    </article>`
  }
}

function details(/** @type {CardProps} */ { task, tasks, labels, person = 'A former member', now }) {
  const { labelIds, dueDate, claim, assigneeId } = task
  const blockers = tasks ? openBlockers(task, tasks).map(({ number }) => numberOf(number)) : []
  const isLate = isOverdue(task, now)
  const facts = [
    labelIds.flatMap((id) => labels.get(id) ?? []).map(chip),
    blockers.length > 0 && dom`<span class="fact blocked" title=${`Blocked by ${blockers.join(', ')}`}>${icon('blocked')}blocked</span>`,
    dueDate && dom`<span class=${isLate ? 'fact late' : 'fact'}>${icon('calendar')}${dateOf(dueDate)}${isLate && ', overdue'}</span>`,
    isClaimed(task, now) && dom`<span class="fact claim">${icon('clock')}<span><bdi>${claim?.by.name}</bdi> until ${timeOf(claim?.until ?? '')}</span></span>`,
    assigneeId && avatar(person, `Assigned to ${person}`),
  ]
  return dom`<div class="details">${facts}</div>`
}

function titleEditor(/** @type {Task} */ task) {
  const name = `${task.id}:title`
  const text = drafts.get(name)?.text ?? task.title
  const close = () => ((ui.editing.value = null), (ui.focused.value = task.id))
  const save = () => (close(), void actions.saveText(task, 'title').catch(ignore))
  const cancel = () => (close(), setDraft(name, ''))
  const input = (/** @type {string} */ text) => actions.editText(task, 'title', text)
  return textForm({ label: `Title of ${numberOf(task.number)}`, text, max: 500, rows: 3, button: 'Save', input, save, cancel, ref: focusOnce })
}
/** @type {(button: Element, id: string) => void} */ function openMenu(button, id) {
  const { right, bottom } = button.getBoundingClientRect()
  ui.menu.value = { id, x: Math.max(8, right - menuWidthPx), y: Math.min(bottom + 4, innerHeight - menuHeightPx) }
}
export function Menu() {
  const { id = '', x = 0, y = 0, isMove = false } = ui.menu.value ?? {}
  const task = tasks.value.get(id)
  if (!task || isReadOnly.value) return null
  const close = () => ((ui.menu.value = null), (ui.focused.value = id))
  const column = whole.value[task.status].filter((other) => other.id !== id)
  const place = (/** @type {Place} */ to) => (actions.move(id, to), (ui.focused.value = id))
  const others = statuses.filter((one) => one !== task.status)
  const columnItems = others.map((one) => /** @type {const} */ ([statusNames[one] ?? '', () => place({ status: one })]))
  /** @type {(readonly [string, () => void])[]} */
  const items = [
    ['Open', () => (ui.opened.value = id)],
    ['Edit title', () => (ui.editing.value = id)],
    ['Move to…', () => (ui.menu.value = { id, x, y, isMove: true })],
    ['Delete', () => actions.remove(task)],
    ['Up', () => actions.carry(id, 'ArrowUp')],
    ['Down', () => actions.carry(id, 'ArrowDown')],
    ['First', () => place({ status: task.status, before: column[0]?.id })],
    ['Last', () => place({ status: task.status })],
  ]
  const onKey = (/** @type {KeyboardEvent & { currentTarget: HTMLElement }} */ event) => {
    const buttons = [...event.currentTarget.querySelectorAll('button')]
    const at = buttons.findIndex((one) => one === document.activeElement)
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 + buttons.length, Home: 0, End: buttons.length - 1 }[event.key]
    if (event.key === 'Enter' || event.key === ' ') return
    event.preventDefault()
    if (to !== undefined) buttons[to % buttons.length]?.focus()
    else if (event.key === 'Escape' || event.key === 'Tab') close()
  }
  return dom`<div class="shade" onPointerDown=${close}></div>
    <div key=${`${id} ${isMove}`} class="menu" role="menu" aria-label=${`${isMove ? 'Places' : 'Actions'} for ${numberOf(task.number)}`} ref=${focusOnce} style=${{ left: `${x}px`, top: `${y}px` }} onKeyDown=${onKey}>
      ${(isMove ? [...columnItems, ...items.slice(4)] : items.slice(0, 4)).map(([name, act]) => dom`<button role="menuitem" tabindex="-1" onClick=${() => ((ui.menu.value = null), act())}>${name}</button>`)}
    </div>`
}
