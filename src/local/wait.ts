import { setTimeout as sleep } from 'node:timers/promises'

const stepMs = 50

export async function until<T>(
  probe: () => T | undefined | Promise<T | undefined>,
  timeoutMs: number,
  { signal, everyMs = stepMs }: { signal?: AbortSignal; everyMs?: number } = {},
): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    signal?.throwIfAborted()
    const result = await probe()
    if (result !== undefined || performance.now() > deadline) return result
    await sleep(everyMs, undefined, { signal }).catch(() => signal?.throwIfAborted())
  }
}
