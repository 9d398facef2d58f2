// The opened card.
/** @import { Card, ProjectEvent, Task } from './types.js' */
import { change, editText, remove, resolveConflict, saveText } from './actions.js'
import { avatar, chip, dom, focusOnce, icon, labelled, textForm } from './dom.js'
import { effect } from './lib/signals.js'
import { all, get } from './net.js'
import { isDate, openBlockers } from './rules.js'
import { drafts, ignore, isReadOnly, messageOf, ordered, people, say, setDraft, shown, tasks, ui } from './store.js'
import { listeners, write } from './sync.js'
import { dateOf, describe, numberOf, priorityNames, shortName, statusNames, timeOf } from './words.js'

const colours = ['#d73a4a', '#1d76db', '#0e8a16', '#8250df', '#b35900', '#0d7d7d']
let loads = 0
/** Reads the rows of the opened card, and applies the events of its task to them. */
export function watchCard() {
  effect(() => {
    const { opened, past, session } = ui
    if (ui.card.peek()?.id !== opened.value) ui.card.value = null
    if (opened.value && session.value) void load(opened.value, past.value?.version)
  })
  listeners.add((event) => {
    const { opened, card, past } = ui
    if (event.taskId === null || event.taskId !== opened.peek() || past.peek()) return
    if (card.peek()?.id === event.taskId) card.value = withEvent(/** @type {Card} */ (card.peek()), event)
    else void load(event.taskId)
  })
}

/** @type {(card: Card, event: ProjectEvent) => Card} */ function withEvent(card, event) {
  const { id, entity, entityId, after } = event
  const history = [event, ...card.history.filter((one) => one.id !== id)]
  if (entity === 'task') return { ...card, history, tag: `"${id}"` }
  const list = entity === 'subtask' ? 'subtasks' : 'comments'
  const rows = new Map(card[list].map((row) => [row.id, /** @type {object} */ (row)]))
  if (after) rows.set(entityId, { ...rows.get(entityId), ...after })
  else rows.delete(entityId)
  return { ...card, history, [list]: [...rows.values()] }
}

/** @type {(id: string, version?: number) => Promise<void>} */ async function load(id, version) {
  const own = ++loads
  const at = version ? `?asOf=${version}&projectId=${ui.projectId.peek()}` : ''
  try {
    const [task, history, subtasks, comments] = await Promise.all([
      get(`tasks/${id}${at}`),
      version ? [] : get(`tasks/${id}/history?limit=50`).then(({ body }) => body),
      all(`tasks/${id}/subtasks${at}`),
      all(`tasks/${id}/comments${at}`),
    ])
    if (own === loads) ui.card.value = { id, tag: task.etag ?? '', subtasks, comments, history }
  } catch (error) {
    if (own === loads && tasks.peek().get(id)?.number) say(`The card cannot be read. ${messageOf(error)}`, true)
  }
}

export function OpenedCard() {
  const id = ui.opened.value
  const task = tasks.value.get(id ?? '')
  if (!id || !shown.value) return null
  const close = () => ((ui.focused.value = id), (ui.opened.value = ui.conflict.value = null))
  const name = task ? `${numberOf(task.number)} ${task.title}` : 'A task that does not exist'
  return dom`<aside key=${id} class="opened" data-card=${id} role="dialog" aria-label=${name} onKeyDown=${(event) => event.key === 'Escape' && (event.stopPropagation(), close())}>
    <header><span class="number grow">${task && numberOf(task.number)}</span>
      ${task && !isReadOnly.value && dom`<button class="quiet" onClick=${() => remove(task)}>Delete</button>`}
      <button class="quiet square" ref=${focusOnce} aria-label="Close the card" title="Close (Escape)" onClick=${close}>${icon('close')}</button>
    </header>
    ${task ? content(task) : dom`<p class="none">This task was deleted or moved away, or did not exist yet.</p>`}
  </aside>`
}

function content(/** @type {Task} */ task) {
  const card = ui.card.value?.id === task.id ? ui.card.value : null
  const history = card?.history.map((event) => dom`<li key=${event.id}><time>${timeOf(event.at)}</time> ${describe(event, shown.value)}</li>`)
  return dom`<div class="content">
    ${textField(task, 'title', 'Title')} ${fields(task)} ${textField(task, 'description', 'Description')}
    ${labels(task)} ${blockers(task)} ${subtasks(task, card?.subtasks ?? [])} ${comments(task, card?.comments ?? [])}
    <section><h2>History</h2><ol class="history">${history}</ol></section>
  </div>`
}

/** @type {(task: Task, field: 'title' | 'description', label: string) => object} */ function textField(task, field, label) {
  const name = `${task.id}:${field}`
  const draft = drafts.get(name)
  const text = draft?.text ?? task[field] ?? ''
  const conflict = ui.conflict.value?.field === field && ui.conflict.value
  const save = () => void saveText(task, field).catch(ignore)
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    const isEnd = event.key === 'Enter' && !event.isComposing && (field === 'title' || event.ctrlKey || event.metaKey)
    if (isEnd) (event.preventDefault(), save())
  }
  const rows = field === 'title' ? 2 : Math.min(16, Math.max(4, text.split('\n').length + 1))
  const area = dom`<textarea rows=${rows} maxlength=${field === 'title' ? 500 : 20_000} dir="auto" readonly=${isReadOnly.value} value=${text}
    onInput=${(event) => editText(task, field, event.currentTarget.value)} onKeyDown=${onKey}></textarea>`
  const buttons = dom`<div class="buttons"><button class="primary" onClick=${save}>Save</button><button onClick=${() => setDraft(name, '')}>Cancel</button></div>`
  const both = dom`<div class="conflict" role="group" aria-label=${`Two texts: ${label}`}>
    <p><b>Somebody changed this text while you edited it.</b></p>
    <h3>Their text</h3><pre tabindex="0" dir="auto">${conflict && conflict.theirs}</pre>
    <h3>Your text</h3><pre tabindex="0" dir="auto">${text}</pre>
    <div class="buttons">
      <button class="primary" onClick=${() => resolveConflict(task, true).catch(ignore)}>Save your text</button>
      <button onClick=${() => resolveConflict(task, false)}>Use their text</button>
    </div>
  </div>`
  return dom`<div class=${field}>${labelled(label, area)}${conflict ? both : draft && buttons}</div>`
}

function fields(/** @type {Task} */ task) {
  const { status, priority, assigneeId, dueDate, claim } = task
  const set = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string} */ value) =>
    void change(task, { [name]: value || null }, { [name]: value || null }, `the ${label.toLowerCase()}`).catch(ignore)
  /** @type {(name: string, label: string, value: string, options: Iterable<[string, string]>) => object} */
  const choice = (name, label, value, options) => {
    const all = [...options].map(([id, text]) => dom`<option key=${id} value=${id} selected=${id === value}>${text}</option>`)
    const onChange = (/** @type {{ currentTarget: { value: string } }} */ { currentTarget }) => set(name, label, currentTarget.value)
    return labelled(label, dom`<select value=${value} disabled=${isReadOnly.value} onChange=${onChange}>${all}</select>`)
  }
  const names = new Map([['', 'Nobody'], ...(assigneeId ? [/** @type {const} */ ([assigneeId, 'A former member'])] : []), ...people.value])
  const setDay = (/** @type {string} */ day) => set('dueDate', 'due date', day && `${day}T00:00:00.000Z`)
  const day = dom`<input type="date" value=${dueDate?.slice(0, 10) ?? ''} disabled=${isReadOnly.value} onChange=${(event) => setDay(event.currentTarget.value)} />`
  return dom`<div class="fields">
    ${choice('status', 'Status', status, Object.entries(statusNames))} ${choice('priority', 'Priority', priority, Object.entries(priorityNames))}
    ${choice('assigneeId', 'Assignee', assigneeId ?? '', names)} ${labelled('Due date', day)}
    ${dueDate && !isDate(dueDate) && dom`<p class="hint">Due ${dateOf(dueDate)}</p>`}
    ${claim && dom`<p class="hint">Claimed by <bdi>${claim.by.name}</bdi> until ${timeOf(claim.until)}</p>`}
  </div>`
}

function labels(/** @type {Task} */ task) {
  const toggle = (/** @type {string} */ id, /** @type {boolean} */ isOn) => {
    const labelIds = isOn ? task.labelIds.filter((one) => one !== id) : [...task.labelIds, id]
    void change(task, isOn ? { removeLabelIds: [id] } : { addLabelIds: [id] }, { labelIds }, 'the labels').catch(ignore)
  }
  const all = [...(shown.value?.labels.values() ?? [])]
  const add = async (/** @type {string} */ name) => {
    const body = { name, color: colours[all.length % colours.length] }
    const answer = await write({ method: 'POST', path: `projects/${task.projectId}/labels`, body, about: `the label ${name}` })
    toggle(/** @type {{ id: string }} */ (answer.body).id, false)
  }
  const buttons = all.map((label) => {
    const isOn = task.labelIds.includes(label.id)
    return dom`<button key=${label.id} aria-pressed=${isOn} disabled=${isReadOnly.value} onClick=${() => toggle(label.id, isOn)}>${chip(label)}</button>`
  })
  return dom`<section><h2>Labels</h2><div class="labels">${buttons}</div>${adder(`${task.id}:label`, 'New label', 50, add)}</section>`
}

function blockers(/** @type {Task} */ task) {
  const open = openBlockers(task, tasks.value)
  const edit = (/** @type {object} */ body, /** @type {string[]} */ blockedByIds) => change(task, body, { blockedByIds }, 'the blockers')
  const add = async (/** @type {string} */ text) => {
    const blocker = ordered.peek().find(({ number }) => number === Number(text.replace('#', '')))
    if (!blocker) return Promise.reject(say(`There is no task ${text} in this project.`, true))
    return edit({ addBlockedByIds: [blocker.id] }, [...task.blockedByIds, blocker.id])
  }
  const rows = task.blockedByIds.map((id) => {
    const blocker = tasks.value.get(id)
    const others = task.blockedByIds.filter((one) => one !== id)
    const drop = () => edit({ removeBlockedByIds: [id] }, others).catch(ignore)
    const text = blocker && dom`<button class="link grow" onClick=${() => (ui.opened.value = id)}>${shortName(blocker)}</button>`
    return text && row(id, !open.includes(blocker), text, `Remove the blocker ${numberOf(blocker.number)}`, drop)
  })
  return dom`<section><h2>Blocked by</h2><ul class="rows">${rows}</ul>${adder(`${task.id}:blocker`, 'Task number, such as #42', 12, add)}</section>`
}
/** @type {(key: string, isDone: boolean, text: object, label: string, drop: () => void) => object} */
const row = (key, isDone, text, label, drop) =>
  dom`<li key=${key} class=${isDone ? 'done' : ''}>${text}${!isReadOnly.value && dom`<button class="quiet square" aria-label=${label} onClick=${drop}>${icon('close')}</button>`}</li>`
/** @type {(task: Task, all: Card['subtasks']) => object} */ function subtasks(task, all) {
  const add = (/** @type {string} */ title) => write({ method: 'POST', path: `tasks/${task.id}/subtasks`, body: { title }, about: `the subtask ${title}` })
  const rows = all.map(({ id, title, completed }) => {
    const [path, about] = [`tasks/subtasks/${id}`, `the subtask ${title}`]
    const waiting = ui.writes.value.findLast((one) => one.path === path && one.method === 'PATCH')
    const isDone = waiting ? /** @type {{ completed: boolean }} */ (waiting.body).completed : completed
    const tick = () => write({ method: 'PATCH', path, body: { completed: !isDone }, about }).catch(ignore)
    const drop = () => write({ method: 'DELETE', path, removes: id, about: `the deletion of ${about}` }).catch(ignore)
    const text = dom`<label class="grow"><input type="checkbox" checked=${isDone} disabled=${isReadOnly.value} onChange=${tick} /><span dir="auto">${title}</span></label>`
    return row(id, isDone, text, `Delete ${about}`, drop)
  })
  const count = all.length > 0 && dom`<span class="count">${all.filter(({ completed }) => completed).length} of ${all.length}</span>`
  return dom`<section><h2>Subtasks ${count}</h2><ul class="rows">${rows}</ul>${adder(`${task.id}:subtask`, 'New subtask', 500, add)}</section>`
}

/** @type {(task: Task, all: Card['comments']) => object} */ function comments(task, all) {
  const add = (/** @type {string} */ text) => write({ method: 'POST', path: `tasks/${task.id}/comments`, body: { text }, about: 'the comment' })
  const rows = all.map(({ id, text, author, importedAuthor, createdAt }) => {
    const name = importedAuthor ?? author?.name ?? 'A deleted account'
    return dom`<li key=${id}>${avatar(name, name)}<div><b><bdi>${name}</bdi></b> <time>${timeOf(createdAt)}</time><p dir="auto">${text}</p></div></li>`
  })
  return dom`<section><h2>Comments</h2><ul class="comments">${rows}</ul>${adder(`${task.id}:comment`, 'New comment', 20_000, add)}</section>`
}

/** A form that adds a row. A rejected text is in the field again. @type {(name: string, label: string, max: number, add: (text: string) => Promise<unknown>) => object | false} */
function adder(name, label, max, add) {
  const text = drafts.get(name)?.text ?? ''
  const save = () => {
    if (text.trim()) add(text.trim()).catch(() => setDraft(name, text))
    setDraft(name, '')
  }
  return !isReadOnly.value && textForm({ label, text, max, button: 'Add', input: (text) => setDraft(name, text), save })
}
