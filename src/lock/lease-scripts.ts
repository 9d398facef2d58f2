// A lease is a key with the holder's process id and a time to live. A list in a second key queues waiting processes.
// Each process subscribes to its own channel: "want <project>" asks for the lease, "take <project>" hands it over.

/** KEYS lease, queue · ARGV process id, ttlMs, channel prefix, project → 0 if acquired, else ms until the lease ends. */
export const acquireScript = `
local holder = redis.call('get', KEYS[1])
if not holder or holder == ARGV[1] then
  redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
  redis.call('lrem', KEYS[2], 0, ARGV[1])
  return 0
end
if not redis.call('lpos', KEYS[2], ARGV[1]) then
  redis.call('rpush', KEYS[2], ARGV[1])
  redis.call('pexpire', KEYS[2], 60000)
end
redis.call('publish', ARGV[3] .. holder, 'want ' .. ARGV[4])
return math.max(redis.call('pttl', KEYS[1]), 1)`

/**
 * KEYS lease, queue · ARGV process id, ttlMs, channel prefix, project, 1 in a cluster
 * Hands the lease to the first waiting process that is still subscribed.
 */
export const releaseScript = `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
local nextUp = redis.call('lpop', KEYS[2])
while nextUp do
  local receivers = nextUp ~= ARGV[1] and redis.call('publish', ARGV[3] .. nextUp, 'take ' .. ARGV[4])
  -- A cluster node counts only the subscribers of that node.
  if receivers and (receivers > 0 or ARGV[5] == '1') then
    redis.call('set', KEYS[1], nextUp, 'px', ARGV[2])
    local after = redis.call('lindex', KEYS[2], 0)
    if after then redis.call('publish', ARGV[3] .. nextUp, 'want ' .. ARGV[4]) end
    return 1
  end
  nextUp = redis.call('lpop', KEYS[2])
end
redis.call('del', KEYS[1])
return 1`

/** KEYS leases · ARGV process id, ttlMs → for each key 1 if this process still holds and has renewed it, else 0. */
export const renewScript = `
local renewed = {}
for i, key in ipairs(KEYS) do
  renewed[i] = redis.call('get', key) == ARGV[1] and redis.call('pexpire', key, ARGV[2]) or 0
end
return renewed`
