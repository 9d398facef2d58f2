/** The part of preact that the board uses. */
export interface VNode {
  type: unknown
}
export type Child = VNode | string | number | boolean | null | undefined | Child[]
export function h(type: unknown, props: object | null, ...children: Child[]): VNode
export function render(tree: Child, parent: Element): void
export class Component<Props> {
  props: Readonly<Props>
}
