-- Many requests in one call, one after the other as if each came alone. Each is one limit to spend on, and none carries a replacement.
--
-- KEYS[i]    the state of the i-th request's limit; requests may have one in common
-- ARGV[1]    for each request a byte: which of the others has its terms
-- ARGV[1+n]  as ARGV[1] of decide.lua; whose clock and the margin are the same in all of them
-- returns    now, as in a reply of decide.lua, then for each request 'A', 'D' or 'S' and the state as it was, or the error that a call for it alone would have got
local held = redis.pcall('MGET', unpack(KEYS))
local call, try, pack, unpack, floor, ceil, byte, format = redis.call, redis.pcall, struct.pack, struct.unpack, math.floor, math.ceil, string.byte, string.format
local asked, given, which = KEYS, ARGV, ARGV[1]
local _, clock, now, margin = unpack('<BBI7I6', given[2])
if clock == 1 then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- One request as decide.lua has it, at its instant here.
local function decide_alone(key, terms)
  local KEYS, ARGV = {key}, {pack('<BBI7I6', 1, 0, now, margin) .. terms:sub(16)}
  local function decide()
--@decide.lua@
  end
  local done, reply = pcall(decide)
  if done then return reply:sub(1, 1) .. reply:sub(10) end
  return {err = type(reply) == 'table' and reply.err or reply}
end

-- What has become of keys meanwhile; '' = nobody has looked. That is no state of ours, so that the long way looks.
local written, replies, terms, last, last_px, expiry = {}, {pack('<I7', now)}
local kind, print, tick, window, x, y, z, t
for i = 1, #asked do
  local key, n = asked[i], byte(which, i) + 1
  if n ~= last then
    last, terms = n, given[n]
    kind, _, print, tick, window, x, y, z = unpack('<BBI3I3I7I7I7I7', terms, 16)
    if clock == 0 then now = unpack('<I7', terms, 3) end
    t = now
    if tick > 1 then t = floor(now / tick) end
  end
  local raw = written[key]
  if raw == nil then raw = held[i] end
  -- Who may not read many at once reads one by one.
  if raw == nil then raw = '' end
--@usual.lua@
  if not usual then
    replies[i + 1], written[key] = decide_alone(key, terms), ''
  elseif not admits then
    replies[i + 1] = raw and 'D' .. raw or 'D'
  else
    if px ~= last_px then last_px, expiry = px, format('%d', px) end
    local set = try('SET', key, new, 'PX', expiry)
    if set.err then
      replies[i + 1] = set
    else
      replies[i + 1], written[key] = raw and 'A' .. raw or 'A', new
    end
  end
end
return replies
