import type { Json } from './entry.ts'
import type { Selection } from './selection.ts'

/** An object or a list that is not closed yet. */
export interface Frame {
  isList: boolean
  key: string | number
  /** Selects the wanted parts inside. */
  selection: Selection | undefined
  /** Defined for a wanted part, and inside it. */
  content: Record<string, Json> | Json[] | undefined
  /** True if the value at `key` belongs to `content`. */
  isKept: boolean
  /** The pattern, if this object is a wanted part. */
  part: string | undefined
}

/** All frames have the same properties, so that access to them is fast. */
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

/** True if a pattern such as `cards.*` names the value at the key of the frame. */
export const needsList = ({ isList, key, selection }: Frame): boolean =>
  !isList && selection?.keys.get(key as string)?.others !== undefined

/** Returns the pattern that selects a text at the key of the frame. */
export const textPartOf = ({ isList, key, selection }: Frame): string | undefined =>
  isList ? undefined : selection?.keys.get(key as string)?.part
