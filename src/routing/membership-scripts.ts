// A sorted set holds the live processes with the time of their last beat on the clock of Redis. A text holds the home of
// each shard after a growing revision: '7 ["a","b"]'. Every beat removes silent processes.
const silentMs = 2_000
/** Without any beat for so long, Redis was away or its clock was set, and no process was silent. */
const unheardMs = 1_000
const keptMs = 10_000
const maxMembers = 1_000
/**
 * KEYS living, assignment · ARGV channel, me, remembered assignment, remembered living… → assignment, living…
 * What the caller remembers is restored where Redis lost it.
 */
export const beatScript = `
local function revision(text)
  local digits = string.match(text, '^(%d+) ')
  return digits and #digits < 10 and tonumber(digits) or 0
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local changes = 0
local isLost = redis.call('type', KEYS[1]).ok ~= 'zset'
if isLost then redis.call('del', KEYS[1]) end
if redis.call('type', KEYS[2]).ok ~= 'string' then redis.call('del', KEYS[2]) end
if revision(redis.call('get', KEYS[2]) or '') < revision(ARGV[3]) then
  redis.call('set', KEYS[2], ARGV[3])
  isLost = true
end
for i = 4, isLost and #ARGV or 0 do changes = changes + redis.call('zadd', KEYS[1], 'nx', now, ARGV[i]) end
local latest = tonumber(redis.call('zrevrange', KEYS[1], 0, 0, 'withscores')[2])
if latest and (latest > now or latest < now - ${unheardMs}) then
  for _, one in ipairs(redis.call('zrange', KEYS[1], 0, -1)) do redis.call('zadd', KEYS[1], now, one) end
end
changes = changes + redis.call('zadd', KEYS[1], now, ARGV[2])
  + redis.call('zremrangebyscore', KEYS[1], '-inf', now - ${silentMs})
redis.call('pexpire', KEYS[1], ${keptMs})
redis.call('pexpire', KEYS[2], ${keptMs})
if changes > 0 then redis.call('publish', ARGV[1], 'living') end
return { redis.call('get', KEYS[2]) or '', unpack(redis.call('zrange', KEYS[1], 0, ${maxMembers - 1})) }`

/** KEYS living, assignment → assignment, living… */
export const readScript = `
local living = redis.call('type', KEYS[1]).ok == 'zset' and redis.call('zrange', KEYS[1], 0, ${maxMembers - 1}) or {}
local assignment = redis.call('type', KEYS[2]).ok == 'string' and redis.call('get', KEYS[2]) or ''
return { assignment, unpack(living) }`

/** KEYS assignment · ARGV channel, expected assignment, new assignment → 1, or 0 when another one was found. */
export const assignScript = `
if (redis.call('get', KEYS[1]) or '') ~= ARGV[2] then return 0 end
redis.call('set', KEYS[1], ARGV[3], 'px', ${keptMs})
redis.call('publish', ARGV[1], 'assignment')
return 1`
