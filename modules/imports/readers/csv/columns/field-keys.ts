import { createHash } from 'node:crypto'

const maxKeyCharacters = 40

/** Jira adds the words to names of fields. */
export const fieldName = (header: string): string =>
  (
    /^(?:custom field|campo personalizado|benutzerdefinierte felder|pole niestandardowe) \((.+)\)$/i.exec(
      header,
    )?.[1] ?? header.replace(/^field\./, '')
  ).slice(0, 100)

/** The keys of the fields for columns. */
export class FieldKeys {
  private readonly keys = new Map<string, string>()
  private readonly used = new Set<string>()

  /** Returns the same key for columns with the same header, and different keys for others. */
  keyOf(header: string): string {
    const known = this.keys.get(header)
    if (known) return known
    const base = slug(fieldName(header))
    let key = base
    for (let n = 2; this.used.has(key); n++) key = `${base.slice(0, maxKeyCharacters - 5)}_${n}`
    this.used.add(key)
    this.keys.set(header, key)
    return key
  }
}

function slug(name: string): string {
  const ascii = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const key = ascii.replace(/[^a-z0-9]+/g, '_').replace(/^[^a-z]+|_+$/g, '')
  if (key) return key.slice(0, maxKeyCharacters)
  return `f_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`
}
