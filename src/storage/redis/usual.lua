-- The step of almost every request: one limit whose state is none, or one that needs nothing but counting on. A part of decide.lua and of batch.lua.
--
-- takes   raw as it is stored (false = none), kind, print, tick, t in ticks, window, x, y, z, margin
-- leaves  usual (false = it takes the long way, and none of the others means anything), admits, and when it does new = what to store, for px ms
local usual, admits, new, ticks, px = not raw, false, nil, 0, 0
if kind <= 2 then
  local debt = z
  if raw and #raw == 17 then
    local found, a, b = unpack('<I3I7I7', raw)
    if found == print and a <= t and b > 0 and b <= 2 * y then
      usual = true
      local left = b - (t - a) * x
      if left > 0 then debt = left + z end
    end
  end
  if debt <= y then admits, new, ticks = true, pack('<I3I7I7', print, t, debt), ceil(debt / x) end
else
  local this = floor(t / window)
  if kind == 3 then
    local units = z
    if raw and #raw == 12 then
      local found, a, b = unpack('<I3I5I4', raw)
      if found == print and a <= this and b > 0 then
        usual = true
        if a == this then units = b + z end
      end
    end
    if units <= x then
      admits, new, ticks = true, pack('<I3I5I4', print, this, units), (this + 1) * window - t
      usual = usual and units < 4294967296
    end
  else
    local previous, current = 0, z
    if raw and #raw == 12 then
      local found, a, b, c = unpack('<I3I5I2I2', raw)
      if found == print and a <= this and b + c > 0 then
        usual = true
        if a == this then
          previous, current = b, c + z
        elseif a + 1 == this then
          previous = c
        end
      end
    end
    if current <= x and previous * (window - t + this * window) <= (x - current) * window then
      admits, new, ticks = true, pack('<I3I5I2I2', print, this, previous, current), (this + 2) * window - t
      usual = usual and current < 65536
    end
  end
  usual = usual and this < 1099511627776
end
if admits then
  px = ticks * tick / 1000 + 1 + margin
  if px > 1e15 then px = 1e15 end
end
