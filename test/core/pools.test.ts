import { expect, test } from 'bun:test'
import { readConfig } from '../../src/config.ts'
import { sharedPools } from '../../src/process/pools.ts'
import { upTo } from '../races/pair.ts'

const connections = (processes: number, env: Record<string, string> = {}) => {
  const pools = sharedPools({ ...readConfig(env), webConcurrency: processes })
  return Object.values(pools).map(Number)
}
const sum = (numbers: number[]) => numbers.reduce((all, one) => all + one, 0)
const full = 11

test('a few processes have the pools that one has', () => {
  for (const processes of upTo(6)) expect(connections(processes)).toEqual([4, 4, 3])
})

test('up to 24 processes, a worker and a successor leave room in a Postgres that takes 100 connections', () => {
  for (const processes of upTo(24))
    expect(processes * sum(connections(processes)) + 2 * full).toBeLessThan(97)
})

test('each process has at least one of a kind', () => {
  for (const processes of upTo(64)) expect(Math.min(...connections(processes))).toBeGreaterThan(0)
})
