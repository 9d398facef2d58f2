import { createHmac, randomBytes } from 'node:crypto'

// Standard Webhooks, https://www.standardwebhooks.com

const secretBytes = 32
const prefix = 'whsec_'

export const newSecret = (): string => prefix + randomBytes(secretBytes).toString('base64')

export function signedHeaders(secrets: string[], id: string, body: string, seconds: number) {
  const sign = (secret: string) =>
    createHmac('sha256', Buffer.from(secret.slice(prefix.length), 'base64'))
      .update(`${id}.${seconds}.${body}`)
      .digest('base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': secrets.map((secret) => `v1,${sign(secret)}`).join(' '),
  }
}
