import type { Output } from './terminal/output.ts'

export type SignalName = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

/** The streams, requests, variables and signals of a command. Tests replace them. */
export interface Cli {
  env: Record<string, string | undefined>
  out: Output
  err: Output
  /** Sends the requests. */
  fetch: (url: string, init: RequestInit) => Promise<Response>
  input: NodeJS.ReadableStream & { isTTY?: boolean }
  /** Calls the listener for each signal, and returns a function that stops this. Without a listener, a signal ends the process. */
  onSignal(listener: (name: SignalName) => void): () => void
}

/** Returns all of standard input as text. */
export async function readInput({ input }: Pick<Cli, 'input'>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of input)
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
  return text + decoder.decode()
}
