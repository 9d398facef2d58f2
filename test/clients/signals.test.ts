import { expect, spyOn, test } from 'bun:test'
import { Docket } from '../../clients/typescript/src/docket.ts'

test('calls that share a signal add one listener to it, and all of them end with its reason', async () => {
  const docket = new Docket({ url: 'http://docket.test', fetch: () => new Promise(() => {}) })
  const stop = new AbortController()
  const listen = spyOn(stop.signal, 'addEventListener')
  const results = Array.from({ length: 20 }, (_, n) =>
    docket.tasks.get(`task-${n}`, { signal: stop.signal }).catch((error: unknown) => error),
  )
  const reason = new Error('Enough')
  stop.abort(reason)
  expect(await Promise.all(results)).toEqual(results.map(() => reason))
  expect(listen).toHaveBeenCalledTimes(1)
})
