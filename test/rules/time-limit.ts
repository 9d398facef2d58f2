import fc from 'fast-check'

/**
 * Checks a property with as many cases as the time allows. It waits for a case that is running at the end of the time, so that
 * its requests do not reach the next test.
 */
export async function assertInTime<T>(
  property: fc.IAsyncProperty<T>,
  { withinMs, ...others }: fc.Parameters<T> & { withinMs: number },
): Promise<void> {
  let last: ReturnType<typeof property.run> | undefined
  const run = property.run.bind(property)
  property.run = (value) => (last = run(value))
  try {
    await fc.assert(property, { ...others, interruptAfterTimeLimit: withinMs })
  } finally {
    await last
  }
  const failure = await last
  if (failure && 'error' in failure) throw failure.error
}
