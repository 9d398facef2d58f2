// A sorted set lists the live processes with the time of their last heartbeat, on the clock of Redis. A string contains
// the revision of the assignment, which only grows, and the process of each shard: '7 ["a","b"]'.

const memberTtlMs = 2_000
/** If no process sent a heartbeat for this long, Redis was down or its clock was changed. Then no process is removed. */
const outageMs = 1_000
const keyTtlMs = 10_000
const maxMembers = 1_000
/**
 * KEYS members, assignment · ARGV channel, own member, last assignment, last members… → assignment, members… If Redis
 * lost its data, the script restores what the caller read last.
 */
export const heartbeatScript = `
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
if latest and (latest > now or latest < now - ${outageMs}) then
  for _, member in ipairs(redis.call('zrange', KEYS[1], 0, -1)) do redis.call('zadd', KEYS[1], now, member) end
end
changes = changes + redis.call('zadd', KEYS[1], now, ARGV[2])
  + redis.call('zremrangebyscore', KEYS[1], '-inf', now - ${memberTtlMs})
redis.call('pexpire', KEYS[1], ${keyTtlMs})
redis.call('pexpire', KEYS[2], ${keyTtlMs})
if changes > 0 then redis.call('publish', ARGV[1], 'living') end
return { redis.call('get', KEYS[2]) or '', unpack(redis.call('zrange', KEYS[1], 0, ${maxMembers - 1})) }`

/** KEYS members, assignment → assignment, members… */
export const readScript = `
local living = redis.call('type', KEYS[1]).ok == 'zset' and redis.call('zrange', KEYS[1], 0, ${maxMembers - 1}) or {}
local assignment = redis.call('type', KEYS[2]).ok == 'string' and redis.call('get', KEYS[2]) or ''
return { assignment, unpack(living) }`

/** KEYS assignment · ARGV channel, expected assignment, new assignment → 1, or 0 if the assignment has changed. */
export const assignScript = `
if (redis.call('get', KEYS[1]) or '') ~= ARGV[2] then return 0 end
redis.call('set', KEYS[1], ARGV[3], 'px', ${keyTtlMs})
redis.call('publish', ARGV[1], 'assignment')
return 1`
