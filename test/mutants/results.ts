import type { Mutant } from './list.ts'

/** `everyday`: noticed by the files of `npm test`. `deep`: noticed only by deep files. */
export interface Result {
  outcome: 'everyday' | 'deep' | 'survived'
  seconds: number
  /** The test that failed. */
  failed?: string
}

/** The share of faults that the files of `npm test` must notice. */
const wanted = 0.9

/** Prints a table by topic, and the faults that no test noticed. Returns the exit code. */
export function printResults(mutants: Mutant[], results: Record<string, Result>): number {
  const row = (name: string, some: Mutant[]) => {
    const outcomes = some.map(({ key }) => results[key]?.outcome)
    const counts = ['everyday', 'deep', 'survived', undefined].map(
      (one) => outcomes.filter((o) => o === one).length,
    )
    return [name.padEnd(10), ...[some.length, ...counts].map((count) => String(count).padStart(9))].join('')
  }
  console.log(
    [
      'topic'.padEnd(10),
      ...['faults', 'everyday', 'deep', 'survived', 'not run'].map((one) => one.padStart(9)),
    ].join(''),
  )
  for (const [topic, some] of [...Map.groupBy(mutants, (one) => one.topic)].sort())
    console.log(row(topic, some))
  console.log(row('all', mutants))
  const survivors = mutants.filter(({ key }) => results[key]?.outcome === 'survived')
  for (const { topic, text } of survivors) console.log(`\nsurvived (${topic}): ${text}`)
  const noticed = mutants.filter(({ key }) => results[key]?.outcome === 'everyday').length
  return noticed >= wanted * mutants.length ? 0 : 1
}
