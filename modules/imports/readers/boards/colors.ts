import colors from './colors.json' with { type: 'json' }

export type Colors = Record<string, string>

/** Returns `#rrggbb` for a name in the table, or for a color in hexadecimal digits. */
export function colorOf(color: string | undefined, names: Colors): string | undefined {
  if (color === undefined) return undefined
  const digits = Object.hasOwn(names, color) ? names[color]! : color.replace(/^#/, '')
  return /^[0-9a-f]{6}$/i.test(digits) ? `#${digits.toLowerCase()}` : undefined
}

const table = (pairs: string): Colors => Object.fromEntries(pairs.split(', ').map((pair) => pair.split(' ')))

export const trelloColors = table(colors.trello)
export const wekanColors = table(colors.wekan)
/** A gradient is represented by its first color. */
export const plankaColors = table(colors.planka)
