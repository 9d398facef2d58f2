import { assignShards } from '../../src/routing/placement.ts'
import { eventually, type FreshRedis, freshRedis } from '../kit.ts'
import { agreed, type Member, openMember } from './member.ts'

const shards = '5'

/** Members on their own Redis server, which a test may stop, flush or corrupt. */
export class MemberGroup {
  redis!: FreshRedis
  members: Member[] = []
  private runs = 0
  private env: Record<string, string> = {}

  constructor() {
    beforeAll(async () => {
      this.redis = await freshRedis()
    })
    afterEach(() => this.members.splice(0).forEach((member) => member.close()))
    afterAll(() => this.redis.stop())
  }

  /** Starts three members with five shards. A new assignment would place the shards differently. */
  async start(): Promise<string[]> {
    this.env = { REDIS_URL: this.redis.url, REDIS_PREFIX: `run${++this.runs}`, WRITE_SHARDS: shards }
    for (const id of ['p', 'q', 'r', 's']) await this.join(id)
    await this.leave('p')
    await this.join('t')
    const view = await this.leave('q')
    expect(view).not.toEqual(assignShards(Number(shards), ['r', 's', 't'], [], false))
    await this.untilAllHaveRead(view)
    return view
  }

  /** The view alone does not show whether a member has read the stored assignment. */
  private async untilAllHaveRead(view: string[]): Promise<void> {
    const isStored = async () => (await this.stored()).endsWith(` ${JSON.stringify(view)}`)
    await eventually('the assignment to be stored', isStored)
    const [seconds, micros] = (await this.command('TIME')) as string[]
    const now = Number(seconds) * 1_000 + Number(micros) / 1_000
    await eventually('all members to read the assignment', async () => {
      const heartbeats = await this.command('ZRANGE', this.living(), '0', '-1', 'WITHSCORES')
      return (heartbeats as [string, number][]).every(([, at]) => at > now)
    })
  }

  async join(id: string): Promise<string[]> {
    this.members.push(openMember(this.env, id))
    return agreed(this.members)
  }

  async leave(id: string): Promise<string[]> {
    const leaving = this.members.find((member) => member.id === id)!
    await leaving.leave()
    leaving.close()
    this.members = this.members.filter((member) => member !== leaving)
    return agreed(this.members)
  }

  async expectStable(before: string[], heartbeats = 6): Promise<void> {
    const began = performance.now()
    await eventually('some heartbeats', () => {
      for (const member of this.members) expect(member.view()).toEqual(before)
      return performance.now() - began > heartbeats * 500
    })
    expect(this.members.filter((member) => !this.listsAll(member))).toEqual([])
  }

  async command(...words: string[]): Promise<unknown> {
    const client = new Bun.RedisClient(this.redis.url)
    const reply = await client.send(words[0]!, words.slice(1))
    client.close()
    return reply
  }

  living = () => `run${this.runs}:{homes-2}:living`
  assignment = () => `run${this.runs}:{homes-2}:of-${shards}`
  stored = async () => String(await this.command('GET', this.assignment()))
  listed = async () => (await this.command('ZRANGE', this.living(), '0', '-1')) as string[]

  /** Returns true if each member becomes a home when all other members are lost. */
  private listsAll(member: Member): boolean {
    const ids = this.members.map(({ id }) => id)
    return ids.every((id) => member.view(ids.filter((other) => other !== id)).includes(id))
  }
}

export const entryOf = (id: string) => JSON.stringify({ id, host: '127.0.0.1', port: 1 })
