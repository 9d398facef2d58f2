// A lease is a key with its holder's name and a time to live; beside it stands a queue of processes that wait.
// Each process listens on a channel of its own for "want <project>" (give it up soon) and "take <project>".

/** KEYS lease, queue · ARGV me, ttlMs, channel prefix, project → 0 when taken, else ms until the holder's lease ends. */
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

/** KEYS lease, queue · ARGV me, ttlMs, channel prefix, project, 1 in a cluster. Gives it to the first waiter that still listens. */
export const releaseScript = `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
local nextUp = redis.call('lpop', KEYS[2])
while nextUp do
  local heard = nextUp ~= ARGV[1] and redis.call('publish', ARGV[3] .. nextUp, 'take ' .. ARGV[4])
  -- A node of a cluster counts who listens at itself alone.
  if heard and (heard > 0 or ARGV[5] == '1') then
    redis.call('set', KEYS[1], nextUp, 'px', ARGV[2])
    local after = redis.call('lindex', KEYS[2], 0)
    if after then redis.call('publish', ARGV[3] .. nextUp, 'want ' .. ARGV[4]) end
    return 1
  end
  nextUp = redis.call('lpop', KEYS[2])
end
redis.call('del', KEYS[1])
return 1`

/** KEYS leases · ARGV me, ttlMs → for each key 1 when it is still mine (and now lives on), else 0. */
export const renewScript = `
local mine = {}
for i, key in ipairs(KEYS) do
  mine[i] = redis.call('get', key) == ARGV[1] and redis.call('pexpire', key, ARGV[2]) or 0
end
return mine`
