import { openMember } from './member.ts'

// Runs a member in a child process that a test can freeze. Prints the member's homes of all shards at each change.
const [id = '', env = '{}'] = process.argv.slice(2)
const member = openMember(JSON.parse(env), id)
let printed = ''
setInterval(() => {
  const line = JSON.stringify(member.view())
  if (line !== printed) console.log((printed = line))
}, 5)
