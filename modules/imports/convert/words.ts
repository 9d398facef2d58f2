/** @param lists words, separated by commas. Returns the name of the list that contains each word */
export const byWord = <Name extends string>(lists: Record<Name, string>): ReadonlyMap<string, Name> =>
  new Map(
    (Object.entries(lists) as [Name, string][]).flatMap(([name, words]) =>
      words.split(',').map((word) => [word, name] as const),
    ),
  )
