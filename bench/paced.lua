-- requests.lua with a pause before each request: the rate hardly depends on the response times.
dofile(debug.getinfo(1, 'S').source:match('^@(.*/)') .. 'requests.lua')
local initialize = init

function init(args)
  initialize(args)
  pause = tonumber(args[2])
end

function delay()
  return math.random(2 * pause)
end
