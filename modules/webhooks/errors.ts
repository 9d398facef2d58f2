import { badRequest, conflict, notFound } from '../../src/wire/refusals.ts'

export const noWebhook = () => notFound('Webhook')
export const full = (most: number) => conflict(`A project has at most ${most} webhooks`)
export const unreadable = () => conflict('The secret cannot be read any more: rotate it')
export const badUrl = (wants: string) => badRequest(`url ${wants}`)
