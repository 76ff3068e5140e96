-- decide.lua for a request that says which one it is: what was admitted once is answered again, and not charged again.
--
-- KEYS, ARGV  as in decide.lua, and behind them the key where the reply is kept, and for how many ms
-- returns     as decide.lua. A denial charged nothing and is not kept: it is decided anew.
local asked, given = KEYS, ARGV
local kept = redis.pcall('GET', asked[#asked])
if type(kept) == 'string' and kept:byte() == 65 then return kept end
-- A value of another type is no reply; one that may not be read could be.
if type(kept) == 'table' and not kept.err:find('WRONGTYPE', 1, true) then redis.call('GET', asked[#asked]) end
local KEYS, ARGV = {}, {}
for i = 1, #asked - 1 do KEYS[i] = asked[i] end
for i = 1, #given - 1 do ARGV[i] = given[i] end
local function decide()
--@decide.lua@
end
local reply = decide()
if reply:byte() == 65 then redis.call('SET', asked[#asked], reply, 'PX', given[#given]) end
return reply
