// The keys, and drags with the mouse, a pen or a finger. Their state is outside the tree, so other people's changes never end a drag.
/** @import { Drag, Status } from './types.js' */
import { carry, leavePast, move, undo } from './actions.js'
import { statuses } from './rules.js'
import { columns, isReadOnly, say, tasks, ui } from './store.js'
import { shortName } from './words.js'

const [startPx, holdMs, edgePx, scrollPx] = [4, 400, 48, 12]
const slopPx = 10 // A finger that moves farther before the hold scrolls.
/** @type {Drag | null} */ let drag = null

/** @type {(event: PointerEvent & { currentTarget: HTMLElement }, id: string) => void} */ export function startPress(event, id) {
  const { target, pointerType, pointerId, clientX: x, clientY: y } = event
  const pressed = /** @type {HTMLElement} */ (target)
  if (drag || event.button !== 0 || isReadOnly.peek() || pressed.closest('button, textarea, input, select, a')) return
  const isTouch = pointerType === 'touch'
  const listening = new AbortController()
  const { signal } = listening
  const timer = isTouch ? setTimeout(begin, holdMs) : undefined
  const end = () => (clearTimeout(timer), listening.abort())
  drag = { id, card: event.currentTarget, x, y, startX: x, startY: y, end }
  /** @type {(type: 'pointermove' | 'pointerup' | 'pointercancel', act: (event: PointerEvent) => void) => void} */
  const on = (type, act) => window.addEventListener(type, (one) => one.pointerId === pointerId && act(one), { signal })
  on('pointermove', ({ clientX, clientY }) => follow(clientX, clientY, isTouch))
  on('pointerup', () => finish(true))
  on('pointercancel', () => finish(false))
  addEventListener('contextmenu', (menu) => isTouch && menu.preventDefault(), { signal })
  // The pressed element receives the touches also after the board has removed the element.
  pressed.addEventListener('touchmove', keepPage, { signal, passive: false })
}
/** Prevents that a finger scrolls while it drags a card. @type {(event: Event) => void} */
export const keepPage = (event) => void (drag?.ghost && event.cancelable && event.preventDefault())
/** @type {(x: number, y: number, isTouch: boolean) => void} */ function follow(x, y, isTouch) {
  if (!drag) return
  Object.assign(drag, { x, y })
  const distance = Math.hypot(x - drag.startX, y - drag.startY)
  if (!drag.ghost && isTouch && distance > slopPx) return finish(false)
  if (!drag.ghost && !isTouch && distance >= startPx) begin()
  aim()
}

function begin() {
  const task = tasks.peek().get(drag?.id ?? '')
  if (!drag || !task) return finish(false)
  const { width, left, top } = drag.card.getBoundingClientRect()
  const ghost = /** @type {HTMLElement} */ (drag.card.cloneNode(true))
  for (const name of ['data-task', 'tabindex', 'aria-label']) ghost.removeAttribute(name)
  ghost.classList.add('ghost')
  ghost.inert = true
  Object.assign(ghost.style, { width: `${width}px`, left: `${left}px`, top: `${top}px` })
  const line = document.createElement('div')
  line.className = 'drop-line'
  document.body.append(ghost, line)
  Object.assign(drag, { ghost, line })
  getSelection()?.removeAllRanges()
  ui.dragged.value = drag.id
  say(`${shortName(task)} is picked up. Escape puts it back.`)
  requestAnimationFrame(scroll)
}

/** Moves the copy of the card to the pointer, and finds the place below the pointer. */
function aim() {
  if (!drag?.ghost) return
  const { id, x, y, startX, startY, ghost } = drag
  ghost.style.transform = `translate(${x - startX}px, ${y - startY}px) rotate(1.5deg)`
  const distance = (/** @type {Element} */ column) => {
    const { left, right } = column.getBoundingClientRect()
    return Math.max(left - x, x - right, 0)
  }
  const all = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('[data-column]')])
  const [column] = all.sort((a, b) => distance(a) - distance(b))
  const cards = /** @type {HTMLElement[]} */ ([...(column?.querySelectorAll('[data-task]') ?? [])])
  const others = cards.filter(({ dataset }) => dataset.task !== id)
  const below = others.find((card) => {
    const { top, height } = card.getBoundingClientRect()
    return y < top + height / 2
  })
  const status = /** @type {Status} */ (column?.dataset.column)
  drag.place = below ? { status, before: below.dataset.task } : { status, after: others.at(-1)?.dataset.task }
}

/** Before each frame: shows the place, and scrolls near the edges of the column and the board. */
function scroll() {
  if (!drag?.ghost) return
  requestAnimationFrame(scroll)
  const { place, line, x, y } = drag
  const board = document.getElementById('columns')
  const list = document.querySelector(`[data-column="${place?.status}"] .cards`)
  if (!place || !line || !board || !list) return
  const speed = (/** @type {number} */ at, /** @type {number} */ low, /** @type {number} */ high) =>
    at < low + edgePx ? -scrollPx : at > high - edgePx ? scrollPx : 0
  const [inner, outer] = [list.getBoundingClientRect(), board.getBoundingClientRect()]
  const before = list.scrollTop + board.scrollLeft
  list.scrollTop += speed(y, inner.top, inner.bottom)
  board.scrollLeft += speed(x, outer.left, outer.right)
  if (list.scrollTop + board.scrollLeft !== before) aim()
  const near = document.querySelector(`[data-task="${place.before ?? place.after}"]`)?.getBoundingClientRect()
  const top = near ? (place.before ? near.top - 5 : near.bottom + 3) : inner.top + 4
  const { left, width } = near ?? { left: inner.left + 8, width: inner.width - 16 }
  Object.assign(line.style, { left: `${left}px`, top: `${top}px`, width: `${width}px` })
}

/** @type {(isDropped: boolean) => void} */ function finish(isDropped) {
  const { ghost, line, place, id, end } = drag ?? {}
  drag = null
  end?.()
  ghost?.remove()
  line?.remove()
  if (!ghost || !id) return
  ui.dragged.value = null
  ui.focused.value = id
  // The click at the end of the drag must not open the card.
  const signal = AbortSignal.timeout(50)
  addEventListener('click', (click) => click.stopPropagation(), { capture: true, once: true, signal })
  if (isDropped && place) move(id, place)
}
export const showHelp = () => /** @type {HTMLDialogElement} */ (document.getElementById('help')).showModal()
/** @type {(event: KeyboardEvent) => void} */ export function onKey(event) {
  if (drag?.ghost) return event.key === 'Escape' ? (finish(false), say('The card is back in its place.')) : undefined
  const target = /** @type {HTMLElement} */ (event.target)
  const isTyping = target.closest('input:not([type="checkbox"], [type="range"]), textarea, select') !== null
  if (!ui.live.peek() || !ui.session.peek() || document.querySelector('dialog[open], .menu') || isTyping) return
  const act = actionOf(event, target.dataset?.task, target)
  if (!act) return
  event.preventDefault()
  act()
}

/** @type {(event: KeyboardEvent, card: string | undefined, target: HTMLElement) => (() => unknown) | undefined} */
function actionOf({ key, altKey, ctrlKey, metaKey, shiftKey }, card, target) {
  if (ctrlKey || metaKey) return key.toLowerCase() === 'z' && !shiftKey ? undo : undefined
  if (key.startsWith('Arrow') && altKey) return card && !isReadOnly.peek() ? () => carry(card, key) : undefined
  if (altKey) return undefined
  if (key.startsWith('Arrow')) return card || target === document.body ? () => walk(card, key) : undefined
  if (key === '?') return showHelp
  if (key === '/') return () => document.getElementById('filter')?.focus()
  if (key === 'Enter' && card) return () => (ui.opened.value = card)
  if (key === 'Escape' && ui.past.peek()) return leavePast
  if (isReadOnly.peek()) return undefined
  if (key === 'n') return () => (ui.editing.value = tasks.peek().get(card ?? '')?.status ?? 'TODO')
  return key === 'e' && card ? () => (ui.editing.value = card) : undefined
}

/** Focuses the next card in a direction; without a card, the first one. @type {(id: string | undefined, key: string) => void} */
function walk(id, key) {
  const all = columns.peek()
  const { status } = tasks.peek().get(id ?? '') ?? {}
  const step = /Left|Up/.test(key) ? -1 : 1
  const at = status ? all[status].findIndex((other) => other.id === id) : 0
  const from = status ? statuses.indexOf(status) : -1
  const others = step < 0 ? statuses.slice(0, Math.max(0, from)).toReversed() : statuses.slice(from + 1)
  const beside = others.map((one) => all[one]).find(({ length }) => length > 0) ?? []
  const next = status && /Up|Down/.test(key) ? all[status][at + step] : beside[Math.min(at, beside.length - 1)]
  if (next) ui.focused.value = next.id
  if (next && at + 1 >= ui.limits.peek()[next.status]) ui.limits.value = { ...ui.limits.peek(), [next.status]: at + 100 }
}
