/**
 * The pool of `@fairlead/core`, as a script that runs in Redis: the same steps in the same order, so that it gives the
 * same numbers, bit for bit. Numbers travel and are kept as text with 17 digits, which loses nothing.
 *
 * One hash per pool:
 *
 * - `win`, `nowMs`: the window, and the latest time seen; `granted`: credit of all members; `members`: how many
 * - `id:<member>`: the member's number, in order of arrival
 * - `m:<number>`: weight, granted, need it was refused, until when it waits with that, part of the
 *   window that was over when it last called
 * - `last:<number>`: seq, grant, held, waitMs of its last answer
 * - `t:<tenant>`: weight, and for each member its number, the demand and its part of the weight; only where tenants are
 *   reported
 *
 * It expires one window late. So while a fleet is at work there is always one. That there is none tells a member which
 * knows the window before that Redis has lost its data; Redis says whether it was started since this window began.
 */
export const LEASE_SCRIPT: string = `
local key = KEYS[1]
local limit, windowMs, quantum = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local name, seq, knownWin = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local weight, need, back = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local reports = ARGV[10] == 'tenants'
local FIRST_TENANT = 11

local nowMs
local function text(number) return string.format('%.17g', number) end
local function join(...)
  local parts = {...}
  for i = 1, #parts do parts[i] = text(parts[i]) end
  return table.concat(parts, ' ')
end
local function numbers(line)
  local list = {}
  for part in string.gmatch(line, '%S+') do list[#list + 1] = tonumber(part) end
  return list
end

-- The latest time at which Redis may have begun to remember. It counts whole seconds, from one tick to another.
local function bornMs()
  local info = redis.pcall('INFO', 'server')
  local seconds = type(info) == 'string' and string.match(info, 'uptime_in_seconds:(%d+)')
  return nowMs - math.max(0, tonumber(seconds or 0) - 1) * 1000
end

-- What is known.
local head = redis.call('HMGET', key, 'win', 'nowMs', 'granted', 'members', 'id:' .. name)
local time = redis.call('TIME')
nowMs = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local fresh = not head[1]
if not fresh then nowMs = math.max(nowMs, tonumber(head[2])) end
local win = math.floor(nowMs / windowMs)
local granted, count, number = 0, 0, nil
local members, last = {}, nil
if not fresh and tonumber(head[1]) == win then
  granted, count, number = tonumber(head[3]), tonumber(head[4]), tonumber(head[5] or nil)
  for from = 1, count, 1000 do
    local fields = {}
    for i = from, math.min(from + 999, count) do fields[#fields + 1] = 'm:' .. i end
    for i, line in ipairs(redis.call('HMGET', key, unpack(fields))) do
      local m = numbers(line)
      members[from + i - 1] = {weight = m[1], granted = m[2], ask = m[3], askUntilMs = m[4], seen = m[5]}
    end
  end
else
  redis.call('DEL', key)
end
local changed = {}
if number then
  last = numbers(redis.call('HGET', key, 'last:' .. number))
else
  local wasThere = knownWin >= 0 and knownWin >= win - 1
  if knownWin == win or (fresh and wasThere and bornMs() > win * windowMs) then granted = limit end
  count = count + 1
  number = count
  members[number] = {weight = 0, granted = 0, ask = 0, askUntilMs = 0, seen = 1 / 100}
  last = {0, 0, 0, 0}
  redis.call('HSET', key, 'id:' .. name, number)
end
local me = members[number]
changed[number] = true
if seq >= last[1] then me.seen = math.max(1 / 100, (nowMs - win * windowMs) / windowMs) end

-- Each tenant's weight, split between the members that it is active at.
local shares = {}
if reports and seq >= last[1] then
  for i = FIRST_TENANT, #ARGV, 3 do
    local field, whole, demand = 't:' .. ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
    local line = redis.call('HGET', key, field)
    local tenant = line and numbers(line) or {whole}
    local place = nil
    for j = 2, #tenant, 3 do
      local at = members[tenant[j]]
      at.weight = at.weight - tenant[1] * tenant[j + 2]
      if tenant[j] == number then place = j end
    end
    if not place then
      place = #tenant + 1
      tenant[place] = number
    end
    tenant[place + 1] = demand
    tenant[1] = whole
    local total = 0
    for j = 2, #tenant, 3 do total = total + tenant[j + 1] / members[tenant[j]].seen end
    for j = 2, #tenant, 3 do
      local at = members[tenant[j]]
      tenant[j + 2] = tenant[j + 1] / at.seen / total
      at.weight = at.weight + whole * tenant[j + 2]
      changed[tenant[j]] = true
    end
    redis.call('HSET', key, field, join(unpack(tenant)))
  end
  for i = FIRST_TENANT, #ARGV, 3 do
    local tenant = numbers(redis.call('HGET', key, 't:' .. ARGV[i]))
    for j = 2, #tenant, 3 do
      if tenant[j] == number then shares[#shares + 1] = tenant[j + 2] end
    end
  end
end

-- Claims and the level, when this part of the window is over.
local function claimOf(m, level, elapsed)
  local guarantee = m.weight * level
  local gone = math.max(m.granted, guarantee * elapsed)
  if guarantee > gone then return guarantee - gone end
  return 0
end
local function claimsAt(level, elapsed)
  local sum = 0
  for i = 1, count do sum = sum + claimOf(members[i], level, elapsed) end
  return sum
end
local function levelOf(most, left, elapsed)
  if claimsAt(most, elapsed) <= left then return most end
  local bends = {0}
  for i = 1, count do
    local m = members[i]
    if m.weight > 0 then
      local begins = m.granted / m.weight
      if begins < most then bends[#bends + 1] = begins end
      if elapsed > 0 and begins / elapsed < most then bends[#bends + 1] = begins / elapsed end
    end
  end
  table.sort(bends)
  local low, high = 0, #bends
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if claimsAt(bends[middle + 1], elapsed) <= left then low = middle else high = middle end
  end
  local bend = bends[low + 1]
  local slope, offset = 0, left
  for i = 1, count do
    local m = members[i]
    if m.weight > 0 and m.granted / m.weight <= bend then
      if elapsed > 0 and m.granted / m.weight / elapsed <= bend then
        slope = slope + m.weight * (1 - elapsed)
      else
        slope = slope + m.weight
        offset = offset + m.granted
      end
    end
  end
  if slope > 0 then return math.min(most, offset / slope) end
  return bend
end
local function owed(cost, left)
  local tag = (me.granted + cost) / me.weight
  local sum, isTurn = 0, true
  for i = 1, count do
    local m = members[i]
    if i ~= number and m.ask > 0 and m.askUntilMs > nowMs and (m.granted + m.ask) / m.weight < tag - 1e-9 then
      sum = sum + (m.weight * tag - m.granted)
      if m.ask <= left then isTurn = false end
    end
  end
  if isTurn then return 0 end
  return sum
end

-- The answer: a new one, the last one again, or none to a call that comes after a later one.
local leftMs = (win + 1) * windowMs - nowMs
if seq > last[1] then
  if not reports then me.weight = weight end
  if knownWin == win then
    local returned = math.min(back, me.granted)
    me.granted = me.granted - returned
    granted = granted - returned
  end
  local weights = 0
  for i = 1, count do weights = weights + members[i].weight end
  local most = 0
  if weights > 0 then most = limit / weights end
  local elapsed = (nowMs - win * windowMs) / windowMs
  local left = math.max(0, limit - granted)
  local level = levelOf(most, left, elapsed)
  local claim = claimOf(me, level, elapsed)
  local free = left - (claimsAt(level, elapsed) - claim)
  local fuzz = math.min(1e-3, 1e-9 * limit)
  local full = math.max(need, quantum)
  local grant = 0
  if need > 0 and need <= left + fuzz then
    if full <= claim + fuzz then
      grant = full
    elseif need <= claim + fuzz then
      grant = math.max(need, claim)
    else
      local room = free + fuzz
      if owed(need, left + fuzz) == 0 then
        if need <= room then grant = math.max(need, math.min(quantum, free)) end
      else
        for _, part in ipairs({1, 1 / 2, 1 / 4}) do
          local loan = math.max(need, part * quantum)
          if loan + owed(loan, left + fuzz) <= room then
            grant = loan
            break
          end
        end
      end
    end
  end
  me.granted = me.granted + grant
  granted = granted + grant
  local waitMs = 0
  if grant == 0 and need > 0 then
    local function freeIn(part)
      local later = math.min(1, elapsed + part)
      local level = levelOf(most, left, later)
      return left - (claimsAt(level, later) - claimOf(me, level, later))
    end
    local SHORTEST_WAIT, WAIT, LONGEST_WAIT = 1 / 32, 1 / 20, 1 / 5
    local wait = LONGEST_WAIT
    if freeIn(SHORTEST_WAIT) >= full then
      wait = SHORTEST_WAIT
    elseif freeIn(WAIT) >= need then
      wait = WAIT
    elseif freeIn(2 * WAIT) >= need then
      wait = 2 * WAIT
    end
    if need > left + fuzz then waitMs = leftMs else waitMs = math.min(leftMs, wait * windowMs) end
    me.ask = need
    me.askUntilMs = nowMs + (wait + WAIT) * windowMs
  end
  local rest = math.max(0, limit - granted)
  last = {seq, grant, claimOf(me, levelOf(most, rest, elapsed), elapsed), waitMs}
end

for i in pairs(changed) do
  local m = members[i]
  redis.call('HSET', key, 'm:' .. i, join(m.weight, m.granted, m.ask, m.askUntilMs, m.seen))
end
redis.call('HSET', key, 'win', text(win), 'nowMs', text(nowMs), 'granted', text(granted), 'members', count,
  'last:' .. number, join(unpack(last)))
redis.call('PEXPIREAT', key, string.format('%.0f', (win + 2) * windowMs))
local answer = {text(win), text(leftMs), text(seq == last[1] and last[2] or 0), text(last[3]), text(last[4])}
for i = 1, #shares do answer[#answer + 1] = text(shares[i]) end
return answer
`
