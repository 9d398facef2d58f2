import type { Answer } from '../support/client.ts'
import type { TestService } from '../support/service.ts'

/** Sends a request, and returns its pending response as soon as the service holds the request. */
export async function startHeldRequest(
  { services: { subscriptions } }: TestService,
  send: () => Promise<Answer>,
) {
  const { follow } = subscriptions
  const { promise: isHeld, resolve } = Promise.withResolvers<void>()
  subscriptions.follow = (...given) => {
    resolve()
    return follow(...given)
  }
  const answer = send()
  await Promise.race([isHeld, answer])
  subscriptions.follow = follow
  return { answer }
}
