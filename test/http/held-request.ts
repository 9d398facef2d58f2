import type { Answer } from '../support/client.ts'
import type { TestService } from '../support/service.ts'

/** Asks, and gives the answer to come once the service holds it. */
export async function startHeldRequest(
  { services: { subscriptions } }: TestService,
  ask: () => Promise<Answer>,
) {
  const { follow } = subscriptions
  const { promise: isHeld, resolve } = Promise.withResolvers<void>()
  subscriptions.follow = (...given) => {
    resolve()
    return follow(...given)
  }
  const answer = ask()
  await Promise.race([isHeld, answer])
  subscriptions.follow = follow
  return { answer }
}
