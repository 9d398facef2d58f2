import { type ServiceProcess as Running, spawnService } from '../support/service.ts'

const stopTimeoutMs = 20_000

interface Settings {
  command: 'web' | 'worker'
  env: Record<string, string>
  preload?: string
}

export class ServiceProcess {
  readonly url: string
  private running: Promise<Running | undefined> = Promise.resolve(undefined)
  private readonly runs: Running[] = []

  constructor(
    readonly name: string,
    private readonly settings: Settings,
  ) {
    this.url = `http://127.0.0.1:${settings.env.PORT}`
  }

  /** The lines of all runs that are errors, or not from the log. */
  get errors(): string[] {
    const isError = (line: string) => !line.startsWith('{') || JSON.parse(line).level >= 50
    return this.runs.flatMap(({ output }) => output.filter(isError))
  }

  async start(): Promise<void> {
    const { command, env, preload } = this.settings
    const starting = spawnService(command, env, preload ? ['--preload', preload] : [])
    this.running = starting.catch(() => undefined)
    this.runs.push(await starting)
  }

  async signal(name: NodeJS.Signals): Promise<void> {
    ;(await this.running)?.signal(name)
  }

  async kill(): Promise<void> {
    await (await this.running)?.close()
  }

  /** Stops the process with SIGTERM. Returns false if it had to be killed after 20 s. */
  async stop(): Promise<boolean> {
    await this.signal('SIGCONT')
    const late = new Promise((resolve) => setTimeout(resolve, stopTimeoutMs, 'late'))
    const inTime = (await Promise.race([(await this.running)?.stop(), late])) !== 'late'
    if (!inTime) await this.kill()
    return inTime
  }
}
