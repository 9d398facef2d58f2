import type { VNode } from './preact.js'

/** An event of the form control that has the handler. */
export type UiEvent = KeyboardEvent & PointerEvent & { currentTarget: HTMLInputElement }
type Value = ((event: UiEvent) => unknown) | object | string | number | boolean | null | undefined
interface Htm {
  bind(h: unknown): (strings: TemplateStringsArray, ...values: Value[]) => VNode
}
declare const htm: Htm
export { htm as default }
