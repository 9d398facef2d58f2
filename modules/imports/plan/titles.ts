import { nameFrom } from '../../../src/schema/text.ts'
import type { Notes } from './notes.ts'
import { nameIn } from './texts.ts'

const untitled = 'Untitled'

/** @param max characters. A longer title is also a line of the description. */
export function titleIn(text: string, max: number, notes: Notes): string {
  const title = nameIn(text, max)
  if (title === undefined) {
    notes.list(`The empty title was replaced by "${untitled}"`)
    return untitled
  }
  if (title === text.trim()) return title
  if (title === nameFrom(text)) notes.list('Control characters in the title were replaced by spaces')
  else notes.keep(`Title: ${nameFrom(text)}`, `The title was cut at ${max} characters`)
  return title
}
