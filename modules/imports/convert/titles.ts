import { nameFrom } from '../../../src/schema/text.ts'
import type { Notes } from './notes.ts'
import { nameIn } from './texts.ts'

const untitled = 'Untitled'
const maxTitle = 500

/** A title with more than 500 characters is also a line of the description. */
export function titleIn(text: string, notes: Notes): string {
  const title = nameIn(text, maxTitle)
  if (title === undefined) {
    notes.report(`The empty title was replaced by "${untitled}"`)
    return untitled
  }
  if (title === text.trim()) return title
  if (title === nameFrom(text)) notes.report('Control characters in the title were replaced by spaces')
  else notes.addToFoot(`Title: ${nameFrom(text)}`, `The title was cut at ${maxTitle} characters`)
  return title
}
