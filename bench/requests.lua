-- Sends the requests of a plan (see load.ts) at random, and checks the status of every response. With a second argument,
-- each connection pauses before a request: twice as many milliseconds at most, so that the rate is steady.
local threads = {}

function setup(thread)
  table.insert(threads, thread)
  thread:set('id', #threads)
end

function init(args)
  unexpected, lastUnexpected = 0, 0
  number = 100000000 + id * 200000000 + os.time() % 1000 * 100000
  slots, expected = {}, {}
  math.randomseed(os.time() + id)
  local file = assert(io.open(args[1], 'rb'))
  local requests
  for record in file:read('*a'):gmatch('[^\30]+') do
    local share, status = record:match('^kind (%d+) (%d+)$')
    if share then
      requests = {}
      expected[tonumber(status)] = true
      for _ = 1, tonumber(share) do table.insert(slots, requests) end
    else
      local head, tail = record:match('^(.-)#########(.*)$')
      table.insert(requests, tail and { head, tail } or { record })
    end
  end
  file:close()
  local pause = tonumber(args[2])
  if pause then
    delay = function() return math.random(2 * pause) end
  end
end

function request()
  local requests = slots[math.random(#slots)]
  local found = requests[math.random(#requests)]
  if not found[2] then return found[1] end
  number = number + 1
  return found[1] .. number .. found[2]
end

function response(status)
  if not expected[status] then
    unexpected = unexpected + 1
    lastUnexpected = status
  end
end

function done(summary, latency)
  local wrong, last, errors = 0, 0, summary.errors
  for _, thread in ipairs(threads) do
    wrong = wrong + thread:get('unexpected')
    last = math.max(last, thread:get('lastUnexpected'))
  end
  print(string.format(
    '{"requests":%d,"micros":%d,"p50":%d,"p99":%d,"unexpected":%d,"last":%d,"socket":%d,"timeout":%d}',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), wrong, last,
    errors.connect + errors.read + errors.write, errors.timeout))
end
