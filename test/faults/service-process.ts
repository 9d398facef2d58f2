import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { until } from '../../src/local/wait.ts'
import { runtimeOptions } from '../support/service.ts'

const startTimeoutMs = 20_000
const stopTimeoutMs = 20_000
const root = join(import.meta.dirname, '../..')

interface Settings {
  command: 'web' | 'worker'
  env: Record<string, string>
  preload?: string
}

export class ServiceProcess {
  readonly url: string
  readonly errors: string[] = []
  errorCount = 0
  private child: ChildProcess | undefined
  private exited: Promise<unknown> = Promise.resolve()

  constructor(
    readonly name: string,
    private readonly settings: Settings,
  ) {
    this.url = `http://127.0.0.1:${settings.env.PORT}`
  }

  /** Resolves when a web process responds. Resolves immediately for a worker. */
  async start(): Promise<void> {
    const { command, env, preload } = this.settings
    const args = [...runtimeOptions, ...(preload ? ['--preload', preload] : []), 'src/main.ts', command]
    const { PATH, HOME } = process.env
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { PATH, HOME, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child = child
    this.exited = new Promise((resolve) => child.once('exit', resolve))
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => this.logged(line))
    if (command === 'worker') return
    const isUp = () => fetch(`${this.url}/health/live`).then(...yesOrUndefined)
    const up = await until(async () => (child.exitCode !== null ? false : isUp()), startTimeoutMs, {
      everyMs: 20,
    })
    if (!up) throw new Error(`${this.name} did not start: ${this.errors.join('\n')}`)
  }

  signal(name: NodeJS.Signals): void {
    this.child?.kill(name)
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.exited
  }

  /** Stops the process with SIGTERM. Returns false if it had to be killed after 20 s. */
  async stop(): Promise<boolean> {
    this.signal('SIGCONT')
    this.signal('SIGTERM')
    const late = new Promise((resolve) => setTimeout(resolve, stopTimeoutMs, 'late'))
    const inTime = (await Promise.race([this.exited, late])) !== 'late'
    if (!inTime) await this.kill()
    return inTime
  }

  private logged(line: string): void {
    this.errorCount++
    this.errors.push(line.slice(0, 2_000))
    if (this.errors.length > 20) this.errors.shift()
  }
}

const yesOrUndefined = [() => true, () => undefined] as const
