-- One request: all its limits as one act. Mirrors src/algorithm step by step; every number stays below 2^53, which Resolve has seen to.
--
-- KEYS[i]    the state of the i-th limit
-- ARGV[1]    mode (1 spend, 2 peek, 3 settle), whose clock (1 the server's, 0 the caller's), now in us, ms by which keys outlive need
-- ARGV[1+i]  kind, flags (1 shadow, 2 give back, 4 carries a replacement), fingerprint, us per tick, window, x, y, z
--              buckets          x refill   y full          z credits
--              fixed window     x limit    y window no.    z units
--              sliding counter  x limit    y window no.    z units
--              sliding log      x limit    y charged at    z units
--            and a replacement for a state that was held under other numbers:
--              bytes expected (a length first), bytes to take in their place;   a log: old fingerprint, old window (0 = unknown)
--            One limit alone has both in one, ARGV[1].
-- returns    'A' admitted, 'D' denied, 'S' some state is under other numbers and nothing was done; now; each state as it was, a length first
local call, pack, unpack = redis.call, struct.pack, struct.unpack
local mode, clock, now, margin, kind, flags, print, tick, window, x, y, z
if ARGV[2] then
  mode, clock, now, margin = unpack('<BBI7I6', ARGV[1])
else
  mode, clock, now, margin, kind, flags, print, tick, window, x, y, z = unpack('<BBI7I6BBI3I3I7I7I7I7', ARGV[1])
end
if clock == 1 then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- The short way of almost every request: one limit whose state is none, or one that needs nothing but counting on. What is unusual goes the long way
-- below, which comes to the same where both can be gone.
local floor, ceil = math.floor, math.ceil
if kind and kind ~= 4 and mode == 1 and flags == 0 then
  local key, t = KEYS[1], now
  if tick > 1 then t = floor(now / tick) end
  local raw = redis.pcall('GET', key)
--@usual.lua@
  if usual then
    if admits then call('SET', key, new, 'PX', string.format('%d', px)) end
    return pack('<c1I7Bc0', admits and 'A' or 'D', now, raw and #raw or 0, raw or '')
  end
end

local try, min, max, char, format = redis.pcall, math.min, math.max, string.char, string.format
local count = #KEYS
local held, admitted, stale, reply = {}, true, false, ''

-- What lies under a key. A value of another type is none; one that may not be read is not.
local function read(...)
  local value = try(...)
  if type(value) == 'table' and value.err and not value.err:find('WRONGTYPE', 1, true) then return call(...) end
  return value
end

-- A count after a settle.
local function corrected(units, limit, more, back)
  if back then return max(units - more, 0) end
  return units + min(more, max(2 * limit - units, 0))
end

-- Several limits are looked at once before anything is written, and once more to write.
for pass = (count == 1 or mode == 2) and 2 or 1, 2 do
  if stale then break end
  reply = ''
  for i = 1, count do
    local key, args = KEYS[i], ARGV[i + 1] or ARGV[1]:sub(16)
    kind, flags, print, tick, window, x, y, z = unpack('<BBI3I3I7I7I7I7', args)
    local shadow, back, writes = flags % 2 == 1, floor(flags / 2) % 2 == 1, pass == 2 and mode ~= 2
    local t = now
    if tick > 1 then t = floor(now / tick) end

    if kind == 4 then
      -- A list: "fingerprint:units before", then of each entry, oldest first, its instant and the units through it.
      local exists, found, base, size = true, nil, 0, 0
      local head = read('LRANGE', key, 0, 0)
      if not head.err then
        exists = head[1] ~= nil
        local length = exists and call('LLEN', key) or 0
        if length % 2 == 1 and length > 1 then
          local a, b = head[1]:match('^(%d+):(%d+)$')
          if a and #a < 9 and #b < 17 then found, base, size = tonumber(a), tonumber(b), (length - 1) / 2 end
        end
      end
      local replaced, from_window = false, nil
      if found and found ~= print then
        local old, old_window = nil, nil
        if flags >= 4 then old, old_window = unpack('<I3I7', args, 37) end
        if found ~= old then
          stale = true
        else
          replaced = true
          if old_window == 0 then size = 0 else from_window = old_window end
        end
      end
      if stale then
        local told = found and pack('<I3', found) or ''
        reply = reply .. char(#told) .. told
      else
        local instants, sums = {}, {}
        -- Whatever is no such number ends the evaluation: the list then counts as none.
        local function element(n)
          local text = call('LINDEX', key, n)
          if not text or #text > 16 or not text:find('^%d+$') then error('corrupt') end
          return tonumber(text)
        end
        local function at(n)
          local value = instants[n]
          if not value then
            value = element(2 * n + 1)
            instants[n] = value
          end
          return value
        end
        local function through(n)
          if n < 0 then return base end
          local value = sums[n]
          if not value then
            value = element(2 * n + 2)
            sums[n] = value
          end
          return value
        end
        local function first_of(from, to, holds)
          while from < to do
            local middle = floor((from + to) / 2)
            if holds(middle) then to = middle else from = middle + 1 end
          end
          return from
        end
        -- What of the entries from `low` on counts at t: the first in force, the first that the clock firewall pulls back to t, the newest,
        -- and the instant that counts as now.
        local function look(low, length)
          local newest = at(size - 1)
          if newest <= t - length then return size, size, newest, t, false end
          local pos, pulled, ahead = t, false, size
          if newest > t then
            if newest - t > length then
              pulled = true
              ahead = first_of(low, size, function(n) return at(n) >= t end)
            else
              pos = newest
            end
          end
          local function in_force(n) return at(n) > pos - length end
          local from, step = low, 1
          while true do
            local probe = min(from + step, size) - 1
            if in_force(probe) then return first_of(from, probe, in_force), ahead, newest, pos, pulled end
            from, step = probe + 1, step * 2
          end
        end

        local low, cut, first, ahead, newest, pos, pulled = 0, nil, 0, 0, nil, t, false
        local aged, units, lead_at, lead_units = 0, 0, 0, 0
        local entry, charged, target, previous_at, previous_units = nil, 0, 0, 0, 0
        local ok, live = true, size > 0
        local function evaluate()
          if from_window then
            local passed
            low, passed, newest, pos, pulled = look(0, from_window)
            if pulled then cut, instants[passed], sums[passed], size = passed, t, through(size - 1), passed + 1 end
            live = low < size
          end
          if live then
            first, ahead, newest, pos, pulled = look(low, window)
            aged = through(first - 1)
            units = through(size - 1) - aged
            if first < size and (units < 1 or at(first) > at(size - 1)) then error('corrupt') end
          end
          if mode ~= 3 then
            ok = units + z <= x
            if not ok and z <= x then
              local must = aged + units + z - x
              local last = first_of(first, size, function(n) return through(n) >= must end)
              lead_at, lead_units = at(last), through(last) - aged
              if lead_at > at(size - 1) or lead_units > units then error('corrupt') end
            end
          elseif units > 0 then
            local n = first_of(first, ahead, function(m) return at(m) >= y end)
            if n < ahead and at(n) == y then
              charged = through(n) - through(n - 1)
              local others = units - charged
              if back then
                target = max(charged - z, 0)
              else
                target = charged + min(z, max(charged, max(2 * x - others, 0)) - charged)
              end
              entry = n
              if n > first then previous_at, previous_units = at(n - 1), through(n - 1) - aged end
            end
          end
        end
        if live then
          if not pcall(evaluate) then
            call('LINDEX', key, 0) -- ends here when it may not be read
            size, live, low, cut, units, entry, pulled, ok, pos = 0, false, 0, nil, 0, nil, false, true, t
            newest, charged, lead_at, lead_units = nil, 0, 0, 0
            if mode ~= 3 then ok = z <= x end
          end
        elseif mode ~= 3 then
          ok = z <= x
        end

        local spends = mode == 1 and ok and (count == 1 or admitted)
        if writes and (spends or (mode == 1 and pulled) or (entry and target ~= charged) or replaced) then
          local function text(n) return format('%.0f', n) end
          local ends = t
          if not live then
            if exists then call('DEL', key) end
            if spends then
              call('RPUSH', key, text(print) .. ':0', text(t), text(z))
              ends = t + window
            end
          else
            -- All that is still to be read of the list, before anything moves in it.
            local sum = through(size - 1)
            local drop = (spends or (mode == 1 and pulled)) and first or low
            local before = through(drop - 1)
            if entry and target == 0 and entry == size - 1 and entry > 0 then newest = at(entry - 1) end
            local merge = cut or (mode == 1 and pulled and ahead) or nil
            if merge then
              call('LTRIM', key, 0, 2 * merge)
              call('RPUSH', key, text(t), text(sum))
              if not entry then newest = t end
            end
            if spends then
              if newest == pos then call('LSET', key, -1, text(sum + z)) else call('RPUSH', key, text(pos), text(sum + z)) end
              sum, newest = sum + z, pos
            end
            if drop > 0 then call('LTRIM', key, 2 * drop, -1) end
            if drop > 0 or replaced then call('LSET', key, 0, text(print) .. ':' .. text(before)) end
            local again, shift = nil, 0
            if entry and target ~= charged then
              again, shift = 2 * (entry - drop) + 1, target - charged
            elseif sum > 4503599627370496 then
              -- Sums only grow; start them anew before they could leave what a double holds.
              again, shift = 1, -before
              call('LSET', key, 0, text(print) .. ':0')
            end
            if again then
              local rest = call('LRANGE', key, again, -1)
              call('LTRIM', key, 0, again - 1)
              local skip = entry and target == 0 and 2 or 0
              for n = skip + 1, #rest, 2 do call('RPUSH', key, rest[n], text(rest[n + 1] + shift)) end
              if call('LLEN', key) == 1 then call('DEL', key) end
            end
            ends = newest + window
          end
          call('PEXPIRE', key, text(min(floor(max(ends - t, 0) * tick / 1000) + 1 + margin, 1e15)))
        end
        if not ok and not shadow then admitted = false end
        local told = ''
        if units > 0 then
          if mode == 3 then
            told = pack('<I3I7I7I7I7I7', print, cut and t or at(size - 1), units, previous_at, previous_units, charged)
          else
            told = pack('<I3I7I7I7I7', print, cut and t or at(size - 1), units, lead_at, lead_units)
          end
        end
        reply = reply .. char(#told) .. told
      end
    else
      local raw, replaced, ok = held[i], false, true
      if not raw then
        raw = read('GET', key)
        if type(raw) ~= 'string' then raw = '' end
        held[i] = raw
      end
      if flags >= 4 then
        local size = args:byte(37)
        if raw == args:sub(38, 37 + size) then raw, replaced = args:sub(38 + size), true end
      end
      local size, found, a, b, c = #raw
      if kind <= 2 then
        if size == 17 then found, a, b = unpack('<I3I7I7', raw) end
      elseif kind == 3 then
        if size == 12 then found, a, b = unpack('<I3I5I4', raw) elseif size == 17 then found, a, b = unpack('<I3I7I7', raw) end
      elseif size == 12 then found, a, b, c = unpack('<I3I5I2I2', raw)
      elseif size == 18 then found, a, b, c = unpack('<I3I7I4I4', raw) end
      if not found then
        raw = ''
      elseif found ~= print then
        stale = true
      end

      if not stale then
        local new, ticks -- what to hold, and for how long
        if kind <= 2 then
          -- a = the instant, b = the debt then
          if found and (b == 0 or b > 2 * y or a > 9007199254740991) then found, raw = nil, '' end
          local at, debt, pulled = t, 0, false
          if found then
            local elapsed = t - a
            if elapsed < 0 then
              debt = b
              if -elapsed > window then pulled = true else at = a end
            elseif elapsed < ceil(b / x) then
              debt = b - elapsed * x
            end
          end
          local before, changed = debt, pulled
          if mode == 1 then
            ok = debt + z <= y
            if ok and (count == 1 or admitted) then debt, changed = debt + z, true end
          elseif mode == 3 then
            if back then
              debt = max(debt - z, 0)
            elseif z > 2 * y - debt then
              debt = 2 * y
            else
              debt = debt + z
            end
            changed = pulled or debt ~= before
          end
          if not writes then
          elseif changed then
            new, ticks = debt > 0 and pack('<I3I7I7', print, at, debt) or '', at - t + ceil(debt / x)
          elseif replaced then
            new, ticks = raw, found and a - t + ceil(b / x) or 0
          end
        elseif kind == 3 then
          -- a = the window's number, b = the count
          local this = floor(t / window)
          if found and (b == 0 or a > 9007199254740991 / window) then found, raw = nil, '' end
          local at, units, pulled = this, 0, false
          if found and a >= this then
            units = b
            if a > this and a * window - t > window then pulled = true else at = a end
          end
          local before, changed = units, pulled
          if mode == 1 then
            ok = units + z <= x
            if ok and (count == 1 or admitted) then units, changed = units + z, true end
          elseif mode == 3 then
            if y == at then units = corrected(units, x, z, back) end
            changed = pulled or units ~= before
          end
          if not writes then
          elseif changed then
            new = units == 0 and '' or pack(units < 4294967296 and at < 1099511627776 and '<I3I5I4' or '<I3I7I7', print, at, units)
            ticks = (at + 1) * window - t
          elseif replaced then
            new, ticks = raw, found and (a + 1) * window - t or 0
          end
        else
          -- a = the window's number, b = the count before it, c = the count in it
          local this = floor(t / window)
          if found and (b + c == 0 or a > 9007199254740991 / window) then found, raw = nil, '' end
          local at, previous, current, elapsed, pulled = this, 0, 0, t - this * window, false
          if found and a + (c == 0 and 1 or 2) > this then
            previous, current = b, c
            if a > this then
              if a * window - t > window then pulled = true else at, elapsed = a, 0 end
            elseif a < this then
              previous, current = c, 0
            end
          end
          local before_previous, before_current, changed = previous, current, pulled
          if mode == 1 then
            ok = current + z <= x and previous * (window - elapsed) <= (x - current - z) * window
            if ok and (count == 1 or admitted) then current, changed = current + z, true end
          elseif mode == 3 then
            if y == at then
              current = corrected(current, x, z, back)
            elseif y + 1 == at then
              previous = corrected(previous, x, z, back)
            end
            changed = pulled or current ~= before_current or previous ~= before_previous
          end
          if not writes then
          elseif changed then
            new = ''
            if previous + current > 0 then
              local narrow = previous < 65536 and current < 65536 and at < 1099511627776
              new = pack(narrow and '<I3I5I2I2' or '<I3I7I4I4', print, at, previous, current)
            end
            ticks = (at + (current == 0 and 1 or 2)) * window - t
          elseif replaced then
            new, ticks = raw, found and (a + (c == 0 and 1 or 2)) * window - t or 0
          end
        end
        if not ok and not shadow then admitted = false end
        if new == '' then
          call('DEL', key)
        elseif new then
          call('SET', key, new, 'PX', format('%.0f', min(floor(max(ticks, 0) * tick / 1000) + 1 + margin, 1e15)))
        end
      end
      reply = reply .. char(#raw) .. raw
    end
  end
end
return pack('<c1I7', stale and 'S' or admitted and 'A' or 'D', now) .. reply
