import fc from 'fast-check'

/**
 * Holds a property to as many cases as there is time for. A case that is under way when the time is up ends, and counts:
 * what it still did would be the next test's.
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
