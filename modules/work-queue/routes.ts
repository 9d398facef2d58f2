import { Elysia } from 'elysia'
import type { RouteBuilders } from '../../src/http/route-builders.ts'
import type { Module } from '../../src/module.ts'
import type { Services } from '../../src/services.ts'
import { claimNextTask, claimTask, releaseTask } from './commands.ts'
import { openUntilReady } from './wait.ts'

export const workQueue: Module = {
  writes: [
    ['post', '/tasks/:id/claim', claimTask, 'Claim a task, or extend the claim'],
    ['post', '/tasks/:id/release', releaseTask, 'Release a claimed task'],
  ],
}

export function workQueueRoutes({ callerGuard, commandRoute }: RouteBuilders, services: Services) {
  const repeat = openUntilReady(services)
  return new Elysia()
    .use(callerGuard)
    .post(...commandRoute('/projects/:id/claim-next', claimNextTask, 'Claim the next ready task', { repeat }))
}
