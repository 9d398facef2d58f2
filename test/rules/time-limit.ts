import fc from 'fast-check'

interface Runs<T> extends fc.Parameters<T> {
  withinMs: number
  /** Says whether the cases so far included all that the test needs: few random cases may miss something. */
  isCovered?: () => boolean
}

/** More than enough: one series of cases misses something in about one of a hundred runs. */
const maxSeries = 20

/** Checks a property with as many cases as fit in `withinMs`, and waits until the last case has finished. */
export async function assertInTime<T>(
  property: fc.IAsyncProperty<T>,
  { withinMs, isCovered = () => true, ...others }: Runs<T>,
): Promise<void> {
  let last: ReturnType<typeof property.run> | undefined
  const run = property.run.bind(property)
  property.run = (value) => (last = run(value))
  try {
    for (let series = 0; series === 0 || (!isCovered() && series < maxSeries); series++)
      await fc.assert(property, { ...others, interruptAfterTimeLimit: withinMs })
  } finally {
    await last
  }
  const failure = await last
  if (failure && 'error' in failure) throw failure.error
}
