/** Bits for the tokens that may follow in a JSON document. */
export const may = { value: 1, end: 2, key: 4, colon: 8, comma: 16 }

const names: [bit: number, name: string][] = [
  [may.value, 'a value'],
  [may.key, 'a key'],
  [may.colon, 'a colon'],
  [may.comma, 'a comma'],
  [may.end, 'the end of the object or list'],
]

export const namesOf = (next: number): string =>
  names.flatMap(([bit, name]) => (next & bit ? name : [])).join(' or ') || 'the end of the file'
