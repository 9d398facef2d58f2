import { test } from 'bun:test'
import { openThreeHomes } from './three-homes.ts'

const { inTurn, replace } = await openThreeHomes()

test('a process is killed: no write is done twice, no acknowledged write is lost', () =>
  inTurn(async (web) => {
    await web.stop('SIGKILL')
    await replace(web)
  }))
