import type { Answer } from '../support/client.ts'
import type { TestService } from '../support/service.ts'

/** Sends a request, and returns its pending response as soon as the request waits in the service. */
export async function startHeldRequest(
  { services: { subscriptions } }: TestService,
  send: () => Promise<Answer>,
) {
  const { subscribe } = subscriptions
  const { promise: isHeld, resolve } = Promise.withResolvers<void>()
  subscriptions.subscribe = (...args) => {
    resolve()
    return subscribe(...args)
  }
  const answer = send()
  await Promise.race([isHeld, answer])
  subscriptions.subscribe = subscribe
  return { answer }
}
