import { errorsAt, timeoutMs } from './histories.ts'

test.each<[deployment: string, each: Record<string, string>[], shared: Record<string, string>]>([
  ['two processes', [{}, {}], {}],
  ['two processes that take turns by leases', [{}, {}], { WRITE_SHARDS: '0', LEASE_SLICE_MS: '0' }],
  // With different numbers of shards, each project has two or three homes.
  ['processes that disagree about homes', ['1', '2', '8'].map((n) => ({ WRITE_SHARDS: n })), {}],
  // Without common leases and notifications, only commits keep the writes of the processes apart.
  ['processes with different prefixes in Redis', [{}, { REDIS_PREFIX: 'other' }], {}],
])(
  '%s execute each write once, and every response shows a state of its time',
  async (_, each, shared) => {
    expect(await errorsAt(each, shared)).toEqual([])
  },
  timeoutMs,
)
