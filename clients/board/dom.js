// Helpers of all views.
/** @import { Child, VNode } from './lib/preact.js' */
import htm from './lib/htm.js'
import { h } from './lib/preact.js'

export const dom = htm.bind(h)
export const icon = (/** @type {string} */ name) => dom`<svg class="icon" aria-hidden="true"><use href=${`#icon-${name}`} /></svg>` // A symbol of index.html.
/** The initials of a person in a circle of one of six colours. @type {(name: string, label: string) => VNode} */
export function avatar(name, label) {
  const [initials, colour] = [name.split(/\s+/, 2).map((word) => [...word][0]), [...name].length % 6]
  return dom`<span class=${`avatar c${colour}`} role="img" aria-label=${label} title=${label}>${initials}</span>`
}
export const chip = (/** @type {{ color: string | null, name: string }} */ { color, name }) =>
  dom`<span class="chip"><i style=${{ background: color ?? 'currentColor' }}></i><bdi>${name}</bdi></span>`
/** @type {(label: string, field: Child) => VNode} */
export const labelled = (label, field) => dom`<label class="field"><span>${label}</span>${field}</label>`

/** Focuses an element, or the first button of a menu, once: when it appears. @type {(element: HTMLElement | null) => void} */
export function focusOnce(element) {
  if (!element || element.dataset.isFocused) return
  element.dataset.isFocused = 'true'
  const target = element.role === 'menu' ? element.querySelector('button') : element
  target?.focus()
}
/** @type {(form: EventTarget) => Record<string, string>} */
export const valuesOf = (form) => /** @type {never} */ (Object.fromEntries(new FormData(/** @type {HTMLFormElement} */ (form))))
/** A field with buttons. Enter saves, Shift + Enter begins a line, Escape cancels. @type {(form: { label: string, text: string, max: number, rows?: number, button: string, input: (text: string) => void, save: () => void, cancel?: () => void, ref?: object | null }) => VNode} */
export function textForm({ label, text, max, rows = 1, button, input, save, cancel, ref = null }) {
  const submit = (/** @type {Event} */ event) => (event.preventDefault(), save())
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) submit(event)
    if (event.key === 'Escape' && cancel) (event.stopPropagation(), cancel())
  }
  return dom`<form class="text-form" onSubmit=${submit}>
    <textarea ref=${ref} rows=${rows} maxlength=${max} dir="auto" aria-label=${label} placeholder=${label} value=${text} onInput=${(event) => input(event.currentTarget.value)} onKeyDown=${onKey}></textarea>
    <div class="buttons"><button class=${cancel ? 'primary' : ''} disabled=${!text.trim()} aria-label=${cancel ? undefined : `${button}: ${label}`}>${button}</button>
      ${cancel && dom`<button type="button" onClick=${cancel}>Close</button>`}</div>
  </form>`
}
