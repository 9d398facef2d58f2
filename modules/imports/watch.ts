import { MultiMap } from '../../src/subscriptions/subscription.ts'
import type { Services } from '../../src/services.ts'

/** Notifications may be lost, so an import is read at least this often. */
const pollMs = 2_000

export type Watch = ReturnType<typeof openWatch>

/** Returns a function that waits until an import of the project may have changed, at most 2 s. */
export function openWatch({ importNotifications }: Pick<Services, 'importNotifications'>) {
  const waiting = new MultiMap<() => void>()
  let isListening = false
  const listen = () => {
    if (isListening) return
    isListening = true
    importNotifications.listen(({ projectId }) => {
      for (const wake of [...waiting.of(projectId)]) wake()
    })
  }
  /** Call this before reading the import, and `wait` after, so that no change between the two is missed. */
  return (projectId: string, signal?: AbortSignal) => {
    listen()
    const change = Promise.withResolvers<void>()
    const wake = () => change.resolve()
    const remove = waiting.add(projectId, wake)
    signal?.addEventListener('abort', wake, { once: true })
    return {
      async wait(withinMs = pollMs): Promise<void> {
        const timer = setTimeout(wake, Math.max(0, Math.min(withinMs, pollMs)))
        await change.promise
        clearTimeout(timer)
      },
      end(): void {
        remove()
        signal?.removeEventListener('abort', wake)
      },
    }
  }
}
