import { command } from '../command.ts'
import { readStored, writeStored } from '../service/session.ts'

export const logout = command({
  name: 'logout',
  about: 'Delete the stored address and token; the token stays valid',
  args: {},
  examples: ['docket logout'],
  async run({ env, out }) {
    const { url } = await readStored(env)
    if (url) await writeStored(env, {})
    await out.line(url ? `Signed out of ${url}` : 'Not signed in')
  },
})
