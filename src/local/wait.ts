import { setTimeout as sleep } from 'node:timers/promises'

/** Asks every `stepMs` until the answer is not undefined; undefined when `timeoutMs` passed without one. */
export async function until<T>(
  ask: () => T | undefined | Promise<T | undefined>,
  timeoutMs: number,
  stepMs = 50,
): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined || performance.now() > deadline) return answer
    await sleep(stepMs)
  }
}
