import fc from 'fast-check'

/** Checks a property with as many cases as fit in `withinMs`, and waits until the last case has finished. */
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
