export type Colors = Record<string, string>

/** Returns `#rrggbb` for a name in the table, or for a color in hexadecimal digits. */
export function colorOf(color: string | undefined, colors: Colors = {}): string | undefined {
  if (color === undefined) return undefined
  const digits = Object.hasOwn(colors, color) ? colors[color]! : color.replace(/^#/, '')
  return /^[0-9a-f]{6}$/i.test(digits) ? `#${digits.toLowerCase()}` : undefined
}

/** Reads `name rrggbb` pairs. */
const table = (pairs: string): Colors =>
  Object.fromEntries(
    pairs
      .trim()
      .split(/\s*[,\n]\s*/)
      .map((pair) => pair.split(' ') as [string, string]),
  )

export const trelloColors = table(`
  green 61bd4f, yellow f2d600, orange ff9f1a, red eb5a46, purple c377e0
  blue 0079bf, sky 00c2e0, lime 51e898, pink ff78cb, black 344563
  green_light b7ddb0, yellow_light f5ea92, orange_light fad29c, red_light efb3ab, purple_light dfc0eb
  blue_light 8bbdd9, sky_light 8fdfeb, lime_light b3f1d0, pink_light f9c2e4, black_light 8993a4
  green_dark 519839, yellow_dark d9b51c, orange_dark cd8313, red_dark b04632, purple_dark 89609e
  blue_dark 055a8c, sky_dark 0098b7, lime_dark 4bbf6b, pink_dark c9558f, black_dark 091e42`)

export const wekanColors = table(`
  white ffffff, green 3cb500, yellow fad900, orange ff9f19, red eb4646
  purple a632db, blue 0079bf, sky 00c2e0, lime 51e898, pink ff78cb
  black 4d4d4d, silver c0c0c0, peachpuff ffdab9, crimson dc143c, plum dda0dd
  darkgreen 006400, slateblue 6a5acd, magenta ff00ff, gold ffd700, navy 000080
  gray 808080, saddlebrown 8b4513, paleturquoise afeeee, mistyrose ffe4e1, indigo 4b0082`)

/** A gradient is represented by its first color. */
export const plankaColors = table(`
  muddy-grey 69655a, autumn-leafs c9b037, morning-sky 52b9d5, antique-blue 6c99bb, egg-yellow f9c423
  desert-sand fad371, dark-granite 8b8680, fresh-salad ced85e, lagoon-blue 109dc0, midnight-blue 0a63a0
  light-orange fdae5f, pumpkin-orange ed9223, light-concrete afb0a4, sunny-grass beca02, navy-blue 1d7299
  lilac-eyes 406cbd, apricot-red fc736c, orange-peel de692f, bright-moss 96b352, deep-ocean 004c70
  summer-sky 5d9cec, berry-red e83855, light-cocoa a85540, grey-stone aab2bd, tank-green 8aa177
  coral-green 2b6a6c, sugar-plum 7e86c7, pink-tulip e34f7c, shady-rust 87564a, wet-rock 83949b
  wet-moss 4a8753, turquoise-sea 00858a, lavender-fields b287bd, piggy-red f97394, light-mud c7a57a
  gun-metal 4f6573, modern-green 77ce87, french-coast 00b4b1, sweet-lilac 975298, red-burgundy ad5f7d
  silver-glint adadad, pirate-gold b47e11`)
