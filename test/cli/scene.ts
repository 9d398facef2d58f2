import { Readable } from 'node:stream'
import type { Cli, SignalName } from '../../clients/cli/src/cli.ts'
import { run } from '../../clients/cli/src/run.ts'
import { Output } from '../../clients/cli/src/terminal/output.ts'
import { openClientScene, origin } from '../clients/scene.ts'
import { newFolder } from '../kit.ts'

export interface Surroundings {
  input?: string
  /** The width of the terminal in columns. If absent, the output is not a terminal. */
  columns?: number
  env?: Record<string, string>
  fetch?: Cli['fetch']
  signals?: Set<(name: SignalName) => void>
}

/** Opens a service, and returns functions that run `docket` in this process. Environment variables contain the token. */
export async function openCliScene() {
  const scene = await openClientScene()
  const home = await newFolder()
  const signedIn = { DOCKET_URL: origin, DOCKET_TOKEN: scene.ada.token! }
  const docket = (line: string[], given: Surroundings = {}) =>
    runDocket(line, { fetch: scene.send, ...given, env: { HOME: home, ...signedIn, ...given.env } })
  /** Runs a command that must succeed, and returns its JSON. */
  const json = async (line: string[], given?: Surroundings) => {
    const { code, out, err } = await docket([...line, '--json'], given)
    if (code !== 0) throw new Error(`docket ${line.join(' ')} exited with ${code}: ${err}`)
    return JSON.parse(out)
  }
  return { ...scene, home, run: docket, json }
}

/** Returns the words of a shell line. */
export const wordsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, ...parts]) =>
    parts.find((one) => one !== undefined)!,
  )

export async function runDocket(line: string[], given: Surroundings & { env: Record<string, string> }) {
  const [out, err] = [capture(given.columns), capture(given.columns)]
  const cli: Cli = {
    env: given.env,
    out: new Output(out, given.env),
    err: new Output(err, given.env),
    fetch: given.fetch ?? ((url, init) => fetch(url, init)),
    input: Readable.from([given.input ?? '']),
    onSignal(listener) {
      given.signals?.add(listener)
      return () => void given.signals?.delete(listener)
    },
  }
  const code = await run(cli, line)
  return { code, out: out.text(), err: err.text() }
}

function capture(columns?: number) {
  let text = ''
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return {
    text: () => text,
    isTTY: columns !== undefined,
    ...(columns !== undefined && { columns }),
    write(piece: string | Uint8Array, done?: (error?: Error | null) => void) {
      text += typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true })
      done?.()
      return true
    },
  }
}
