import { afterAll, afterEach, beforeAll, expect } from 'bun:test'
import { assignShards } from '../../src/routing/assign-shards.ts'
import { eventually } from '../races/pair.ts'
import { type FreshRedis, freshRedis } from '../support/redis.ts'
import { agreed, type Member, openMember } from './member.ts'

const shards = '5'

/** Processes that know each other by a Redis of their own, which a test may stop, empty and spoil. */
export class Circle {
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

  /** Three with five shards between them, where they would not be if they had come today. */
  async settle(): Promise<string[]> {
    this.env = { REDIS_URL: this.redis.url, REDIS_PREFIX: `run${++this.runs}`, WRITE_SHARDS: shards }
    for (const id of ['p', 'q', 'r', 's']) await this.join(id)
    await this.leave('p')
    await this.join('t')
    const view = await this.leave('q')
    expect(view).not.toEqual(assignShards(Number(shards), ['r', 's', 't'], [], false))
    await this.remember(view)
    return view
  }

  /** Until all know it by what is written: one who has not read that yet may think the same. */
  private async remember(view: string[]): Promise<void> {
    const written = async () => String(await this.command('GET', this.assignment()))
    await eventually('it is written', async () => (await written()).endsWith(` ${JSON.stringify(view)}`))
    const [seconds, micros] = (await this.command('TIME')) as string[]
    const now = Number(seconds) * 1_000 + Number(micros) / 1_000
    await eventually('all have read it', async () => {
      const beats = await this.command('ZRANGE', this.living(), '0', '-1', 'WITHSCORES')
      return (beats as [string, number][]).every(([, at]) => at > now)
    })
  }

  async join(id: string): Promise<string[]> {
    this.members.push(openMember(this.env, id))
    return agreed(this.members)
  }

  async leave(id: string): Promise<string[]> {
    const leaver = this.members.find((one) => one.id === id)!
    await leaver.leave()
    leaver.close()
    this.members = this.members.filter((one) => one !== leaver)
    return agreed(this.members)
  }

  /** So many beats pass, and nobody sees a shard move or loses sight of anybody. */
  async unmoved(before: string[], beats = 6): Promise<void> {
    const began = performance.now()
    await eventually('some beats', () => {
      for (const member of this.members) expect(member.view()).toEqual(before)
      return performance.now() - began > beats * 500
    })
    expect(this.members.filter((one) => !this.knowsAll(one))).toEqual([])
  }

  async command(...words: string[]): Promise<unknown> {
    const client = new Bun.RedisClient(this.redis.url)
    const answer = await client.send(words[0]!, words.slice(1))
    client.close()
    return answer
  }

  living = () => `run${this.runs}:{homes-2}:living`
  assignment = () => `run${this.runs}:{homes-2}:of-${shards}`
  listed = async () => (await this.command('ZRANGE', this.living(), '0', '-1')) as string[]

  /** Where all but one other are lost, that one has its part. */
  private knowsAll(one: Member): boolean {
    const ids = this.members.map(({ id }) => id)
    return ids.every((id) => one.view(ids.filter((other) => other !== id)).includes(id))
  }
}

export const entryOf = (id: string) => JSON.stringify({ id, host: '127.0.0.1', port: 1 })
