import type { Json } from './entry.ts'
import type { Selection } from './selection.ts'

/** An object or a list that is not closed yet. */
export interface Frame {
  isList: boolean
  key: string | number
  /** The way to wanted parts inside. */
  selection: Selection | undefined
  /** Of a wanted part, or inside one. */
  content: Record<string, Json> | Json[] | undefined
  /** The value at `key` is a part of `content`. */
  isKept: boolean
  /** The pattern of the wanted part that this object is. */
  part: string | undefined
}

/** All frames have the same properties, which is faster. */
export const frameOf = (isList: boolean): Frame => ({
  isList,
  key: isList ? 0 : '',
  selection: undefined,
  content: undefined,
  isKept: false,
  part: undefined,
})

/** Adds a value at the key of the frame. */
export function put(frame: Frame, content: Json): void {
  if (Array.isArray(frame.content)) frame.content.push(content)
  // This key would change the prototype.
  else if (frame.key !== '__proto__') frame.content![frame.key as string] = content
}
