import { openMember } from './member.ts'

// A process of its own, which can be frozen: it prints what it knows of homes whenever that changes.
const [id = '', env = '{}'] = process.argv.slice(2)
const member = openMember(JSON.parse(env), id)
let told = ''
setInterval(() => {
  const line = JSON.stringify(member.view())
  if (line !== told) console.log((told = line))
}, 5)
