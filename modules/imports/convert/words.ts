/** Returns a map from each word to the name of its list. @param lists words, separated by commas */
export const byWord = <Name extends string>(lists: Record<Name, string>): ReadonlyMap<string, Name> =>
  new Map(
    (Object.entries(lists) as [Name, string][]).flatMap(([name, words]) =>
      words.split(',').map((word) => [word, name] as const),
    ),
  )
