/** How many characters a text may have. */
export interface Bounds {
  minLength?: number
  maxLength: number
}

/** Counts as JSON Schema does, by code points: of one or two units of UTF-16, so mostly there is nothing to count. */
export function hasLength(text: string, { minLength = 0, maxLength }: Bounds): boolean {
  const units = text.length
  if (units >= 2 * minLength && units <= maxLength) return true
  if (units < minLength || units > 2 * maxLength) return false
  let characters = 0
  for (const _ of text) characters += 1
  return characters >= minLength && characters <= maxLength
}
