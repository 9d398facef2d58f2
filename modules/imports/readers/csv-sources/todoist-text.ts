import type { ImportedPerson } from '../../items.ts'

/** Todoist writes labels into the title: `Repot the basil @garden @weekend`. */
export function withoutLabels(title: string): { title: string; labels: string[] } {
  const labels = [...title.matchAll(/(?<=^|\s)@(\S+)/g)].map(([, label]) => label!)
  const rest = title.replace(/(^|(?<!\s)\s+)@\S+/g, '').trim()
  return rest === '' ? { title, labels: [] } : { title: rest, labels }
}

/** `Ada (48151623)` is the person Ada. */
export const withoutId = (person: ImportedPerson): ImportedPerson => ({
  ...person,
  name: person.name.replace(/ \(\d+\)$/, ''),
})
