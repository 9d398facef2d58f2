import { createServer, type Socket } from 'node:net'
import { simpleParser } from 'mailparser'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { listen } from '../kit.ts'

export interface Mail {
  /** The recipient in the SMTP envelope. */
  recipient: string
  from: string
  to: string
  subject: string
  text: string
  messageId: string
  headers: [name: string, value: string][]
  source: string
  /** True if TLS protected the mail, and the user who sent it. */
  isSecure: boolean
  user: string | undefined
  /** The token, which has a line of its own in the text. */
  token: string
}

/** Returns the SMTP status with which to reject a recipient, or undefined to accept the recipient. */
type Reject = (recipient: string, attempt: number) => number | undefined

const plain: SMTPServerOptions = { authOptional: true, disabledCommands: ['AUTH', 'STARTTLS'] }

export async function openMailServer(reject: Reject = () => undefined, options = plain) {
  const mails: Mail[] = []
  const attempts: string[] = []
  const arrivals = new EventTarget()
  const server = new SMTPServer({
    ...options,
    onRcptTo({ address }, _session, done) {
      attempts.push(address)
      arrivals.dispatchEvent(new Event('attempt'))
      const status = reject(address, attempts.filter((one) => one === address).length)
      done(status ? Object.assign(new Error('Rejected by the test'), { responseCode: status }) : null)
    },
    async onData(stream, session, done) {
      const source = Buffer.concat(await Array.fromAsync(stream as AsyncIterable<Buffer>))
      const mail = await mailOf(source, session.envelope.rcptTo[0]!.address)
      mails.push({ ...mail, isSecure: session.secure, user: session.user })
      done()
      arrivals.dispatchEvent(new Event('attempt'))
    },
  })
  // A client that rejects the certificate closes the connection.
  server.on('error', () => {})
  const { port } = await listen(server.server)
  const until = async <T>(found: () => T | undefined): Promise<T> => {
    for (;;) {
      const value = found()
      if (value !== undefined) return value
      await new Promise((resolve) => arrivals.addEventListener('attempt', resolve, { once: true }))
    }
  }
  return {
    url: `smtp://127.0.0.1:${port}`,
    port,
    mails,
    attempts,
    to: (email: string) => mails.filter(({ recipient }) => recipient === email),
    /** Waits for the n-th mail to an address. */
    mail: (email: string, n = 1): Promise<Mail> =>
      until(() => mails.filter(({ recipient }) => recipient === email)[n - 1]),
    attempted: (email: string, count: number) =>
      until(() => attempts.filter((one) => one === email).length >= count || undefined),
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
export type MailServer = Awaited<ReturnType<typeof openMailServer>>

async function mailOf(source: Buffer, recipient: string): Promise<Omit<Mail, 'isSecure' | 'user'>> {
  const { from, to, subject = '', text = '', messageId = '', headerLines } = await simpleParser(source)
  const textOf = (one: typeof from | typeof to) => [one ?? []].flat()[0]?.text ?? ''
  const headers = headerLines.map(({ key, line }): [string, string] => [
    key,
    line.slice(line.indexOf(':') + 1).trim(),
  ])
  const token = text.split('\n').find((line) => /^[\w-]{43}$/.test(line)) ?? ''
  return {
    ...{ recipient, from: textOf(from), to: textOf(to), subject, text, messageId, headers, token },
    source: source.toString(),
  }
}

export async function openSilentServer() {
  const sockets = new Set<Socket>()
  const { promise: connected, resolve } = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    sockets.add(socket)
    resolve()
  })
  const { port } = await listen(server)
  return {
    url: `smtp://127.0.0.1:${port}`,
    connected,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
