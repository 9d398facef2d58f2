import { setTimeout as sleep } from 'node:timers/promises'

const stepMs = 50

/** Asks until the answer is defined, or `timeoutMs` have passed. @throws the reason of `signal` */
export async function until<T>(
  ask: () => T | undefined | Promise<T | undefined>,
  timeoutMs: number,
  { signal, everyMs = stepMs }: { signal?: AbortSignal; everyMs?: number } = {},
): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    signal?.throwIfAborted()
    const answer = await ask()
    if (answer !== undefined || performance.now() > deadline) return answer
    await sleep(everyMs, undefined, { signal }).catch(() => signal?.throwIfAborted())
  }
}
