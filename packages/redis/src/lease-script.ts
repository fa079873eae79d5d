import { LEASE_LOANS } from './lease-loans.js'
import { LEASE_SUMS } from './lease-sums.js'
import { LEASE_TENANTS } from './lease-tenants.js'

/**
 * The pool of `@fairlead/core`, as a script that runs in Redis: the same steps in the same order, with results equal to
 * the last bit. Numbers are sent as text with 17 digits, and stored as lists of MessagePack: both are lossless.
 *
 * One hash per pool:
 *
 * - `head`: window, latest time seen, epoch, rev, granted, since, granted in the next window, level, time and epoch of
 *   a detected loss, members heard since and to be heard, window, epoch and rev of the best informed, slot of time,
 *   members, the time since which claims fade, the time by which all refused tenants are back, what tenants carry, the
 *   least share and the most ahead, what a newcomer begins with, the level of the window before, the
 *   part of the limit for weight 1, and what tenants refused more than their part have lent, the cost up
 *   to which calls have precedence, and the least one for which all was kept in vain
 * - `active`, `line`, `lineBefore`, `wanting`, `large`: strata of tenants, five numbers each, in order
 * - `id:<member>`: the member's number, in order of arrival
 * - `m:<number>`: as MEMBER of the sums
 *
 * And a hash of tenants for even windows, and one for odd windows: weight, used, place, whether it is active, ask and
 * its slot, what it carries, whether it wants more, plus 2 if it was refused more than its part; and for each member
 * its number, rate, used and part.
 *
 * When a window begins, the active members of the last one are renumbered, in their order, and its tenants are kept;
 * everything else is forgotten. The hashes expire one window late.
 */
export const LEASE_SCRIPT: string = `${LEASE_SUMS}
local key = KEYS[1]
local limit, windowMs, quantum = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local name, seq, knownWin = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local holds, spent = tonumber(ARGV[7]), tonumber(ARGV[8])
local markEpoch, markRev = tonumber(ARGV[9]), tonumber(ARGV[10])
local markTotal, markAhead, markMembers = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])
local quietWeight, quietUsed = tonumber(ARGV[14]), tonumber(ARGV[15])
local need, leftSaid = tonumber(ARGV[16]), tonumber(ARGV[17])
local saidAhead, wants = tonumber(ARGV[18]), tonumber(ARGV[19])
local FIRST_TENANT, TENANT = 20, 5

local SHORTEST_WAIT, WAIT, LONGEST_WAIT, LAPSE, SLOT, AHEAD = 1 / 32, 1 / 20, 1 / 10, 1 / 2, 1 / 12, 2
local LATE, PATIENCE = 1.5, 3 / 10
local graceMs, LONGEST_GRACE = 1.5 * math.min(windowMs / 10, 30000), 4
local HUGE = 1.7976931348623157e308
local function read(hash, fields)
  local values = {}
  for from = 1, #fields, 1000 do
    local some = redis.call('HMGET', hash, unpack(fields, from, min(from + 999, #fields)))
    for i = 1, #some do values[from + i - 1] = some[i] end
  end
  return values
end
local writes, tenantWrites = {}, {}
local function write(field, value, list)
  list = list or writes
  list[#list + 1] = field
  list[#list + 1] = value
end
local function save(hash, list)
  for from = 1, #list, 2000 do redis.call('HSET', hash, unpack(list, from, min(from + 1999, #list))) end
end
local function tenantsOf(win) return KEYS[2 + win % 2] end

-- What is known.
local time = redis.call('TIME')
local storeMs = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local begunMs = knownWin * windowMs
if storeMs < begunMs and storeMs >= begunMs - windowMs then storeMs = begunMs end
local headLine = redis.call('HGET', key, 'head')
local win, nowMs, epoch, rev, granted, since, ahead, level, lostMs, lostEpoch
local heard, awaited, informedWin, informedEpoch, informedRev, slot, count, fadesFromMs, backMs
local due, lent, reach, failed = HUGE, 0, HUGE, HUGE
local carried, leastShare, mostAhead, entry, levelBefore = 0, 0, 0, 0, 0
local members, number = {}, nil
local active, line, lineBefore, wanting, large = {}, {}, {}, {}, {}
if headLine then
  win, nowMs, epoch, rev, granted, since, ahead, level, lostMs, lostEpoch, heard, awaited,
    informedWin, informedEpoch, informedRev, slot, count, fadesFromMs, backMs, carried, leastShare, mostAhead,
    entry, levelBefore, due, lent, reach, failed = unpack(numbers(headLine))
  -- A former version saved fewer numbers.
  entry, levelBefore, due, lent = entry or 0, levelBefore or 0, due or HUGE, lent or 0
  reach, failed = reach or HUGE, failed or HUGE
  if nowMs - storeMs > windowMs then nowMs = storeMs else nowMs = max(nowMs, storeMs) end
else
  win, nowMs, count, ahead, epoch, lostMs, lostEpoch, heard, awaited = -2, storeMs, 0, 0, 0, 0, -1, 0, 0
end
local function readMembers()
  local fields, all = {}, {}
  for i = 1, count do fields[i] = 'm:' .. i end
  local lines = read(key, fields)
  for i = 1, count do all[i] = memberOf(lines[i]) end
  return all
end
local function unheard() return max(0, awaited - heard) end
-- For how long nothing is granted yet, because members have to be heard that may know of more.
local function restOfGrace()
  if lostEpoch ~= epoch then return 0 end
  local restMs = lostMs + graceMs - nowMs
  if restMs > 0 then return restMs end
  if unheard() > 0 then return max(0, min(restMs + (LONGEST_GRACE - 1) * graceMs, graceMs / 4)) end
  return 0
end
local TIE, RETRY = 1 + 1e-9, 1 / 20
-- The costs that may be served in the next window, by the one that ends: the largest, and the least that was not.
local function reachOf(all, wanted, last, before, failedBefore)
  local quiet = {0, 0, 0, 0}
  for i = 1, count do quiet[3], quiet[4] = quiet[3] + last[i].quietWeight, quiet[4] + last[i].quietUsed end
  local weights = quiet[3]
  for i = 1, #all do weights = weights + all[i][3] end
  local left, due = max(0, limit - granted), 0
  if weights > 0 then due = (limit / weights) * TIE end
  local function keptBy(one) return min(due * one[3], one[4] + due * one[3] * RETRY) end
  local most = limit * TIE - keptBy(quiet)
  for i = 1, #all do if all[i][4] <= due * all[i][3] then most = most - keptBy(all[i]) end end
  for i = 1, #wanted do if wanted[i][4] <= due * wanted[i][3] then most = most + keptBy(wanted[i]) end end
  local failed, first, stays = HUGE, HUGE, false
  for i = 1, #wanted do
    local one = wanted[i]
    if one[5] > due * one[3] then
      local cost, tag = one[5] / one[2], (one[4] + one[5]) / one[3]
      if cost * TIE >= failedBefore then stays = true end
      if left > most - left and cost <= min(left * TIE, before) and tag < first then failed, first = cost, tag end
    end
  end
  if stays then failed = failedBefore end
  return min(most, failed / TIE / TIE), failed
end
local now = floor(nowMs / windowMs)
if now ~= win then
  local kept, carriedBefore = {}, carried
  carried, leastShare, mostAhead, entry, levelBefore = 0, 0, 0, 0, 0
  local reachBefore, failedBefore = reach, failed
  reach, failed = HUGE, HUGE
  if headLine and now == win + 1 then
    local wanted = strataOf(redis.call('HGET', key, 'wanting'))
    local all = strataOf(redis.call('HGET', key, 'active'))
    local last = readMembers()
    reach, failed = reachOf(all, wanted, last, reachBefore, failedBefore)
    for i = #wanted, 1, -1 do if wanted[i][5] / wanted[i][2] > reach then table.remove(wanted, i) end end
    if wanted[1] then
      leastShare, mostAhead = wanted[1][4] / wanted[1][3], level
      for i = 1, #wanted do mostAhead = max(mostAhead, wanted[i][5] / wanted[i][3]) end
      local function aheadOf(one) return max(0, min(mostAhead, one[4] / one[3] - leastShare)) end
      local weights, used = 0, 0
      for i = 1, #all do weights, used = weights + all[i][3], used + all[i][4] end
      local budget, weight, above = max(level * weights, used) - carriedBefore, 0, 0
      for i = #wanted, 1, -1 do
        local ahead = aheadOf(wanted[i])
        if above - weight * ahead >= budget then break end
        weight, above = weight + wanted[i][3], above + wanted[i][3] * ahead
      end
      if weight > 0 then entry = max(0, (above - budget) / weight) end
      local common = entry
      for i = 1, #wanted do
        common = min(common, max(aheadOf(wanted[i]), entry - wanted[i][5] / wanted[i][3]))
      end
      leastShare, mostAhead, entry = leastShare + common, mostAhead - common, entry - common
      levelBefore = level
    end
    local names = {}
    local fields = redis.call('HKEYS', key)
    local ids = {}
    for i = 1, #fields do if string.sub(fields[i], 1, 3) == 'id:' then ids[#ids + 1] = fields[i] end end
    local values = read(key, ids)
    for i = 1, #ids do names[tonumber(values[i])] = ids[i] end
    for i, m in ipairs(last) do
      local weight = weightOf(m)
      if m.hasCalled == 1 and (weight > 0 or m.ahead > 0) then
        members[#members + 1] = newMember(now * windowMs, m.seq - 0.5, weight, m.ahead)
        kept[#members] = names[i]
      end
    end
  end
  -- A script that has deleted something is not stopped by a Redis without memory.
  if headLine or redis.call('EXISTS', KEYS[2], KEYS[3]) > 0 then
    redis.call('UNLINK', key, tenantsOf(now))
    if now ~= win + 1 then redis.call('UNLINK', tenantsOf(now + 1)) end
  end
  local isListening = now == win + 1 and restOfGrace() > 0
  if now ~= win + 1 then ahead, backMs = 0, 0 end
  fadesFromMs, backMs = max(now * windowMs, min(backMs, now * windowMs + PATIENCE * windowMs)), 0
  if now > win + 1 then epoch, rev = max(1, floor(nowMs)), 0 end
  win, granted, since, ahead, level, slot, due, lent = now, ahead, ahead, 0, HUGE, 0, HUGE, 0
  if lostEpoch == epoch then since = 0 end
  if not isListening then
    lostEpoch, heard, awaited, informedWin, informedEpoch, informedRev = -1, 0, 0, -1, -1, -1
  end
  count = #members
  for i = 1, count do
    write(kept[i], i)
    if kept[i] == 'id:' .. name then number = i end
  end
else
  number = tonumber(redis.call('HGET', key, 'id:' .. name) or nil)
  members = readMembers()
  local strata = redis.call('HMGET', key, 'active', 'line', 'lineBefore', 'wanting', 'large')
  active, line, lineBefore, wanting = strataOf(strata[1]), strataOf(strata[2]), strataOf(strata[3]), strataOf(strata[4])
  large = strataOf(strata[5])
end
local slotNow = floor(nowMs / (windowMs * SLOT))
if slotNow ~= slot then
  if slotNow == slot + 1 then lineBefore = line else lineBefore = {} end
  line, slot = {}, slotNow
end
local changed = {}
if #writes > 0 then for i = 1, count do changed[i] = true end end
if not number then
  count = count + 1
  number = count
  members[number] = newMember(nowMs, 0, 0, 0)
  changed[number] = true
  write('id:' .. name, number)
end
local me = members[number]
-- The part of the time in which claims fade that is over.
local function elapsedAt(atMs)
  return min(1, max(0, (atMs - fadesFromMs) / ((win + 1) * windowMs - fadesFromMs)))
end
local elapsed = elapsedAt(nowMs)
local fuzz = min(1e-3, 1e-9 * limit)
local isHere = knownWin == win
local function isPresent(m) return m.seenMs > nowMs - windowMs * LAPSE end
-- The member's part of all weight.
local function partOfMe()
  local weights = 0
  for i = 1, count do if isPresent(members[i]) then weights = weights + weightOf(members[i]) end end
  if weights > 0 then return weightOf(me) / weights end
  return 0
end

${LEASE_TENANTS}
if seq >= me.seq then readTenants() end

local function hold()
  local isOfLast = knownWin >= 0 and knownWin == win - 1
  local held, heldAhead = 0, 0
  if isHere then held, heldAhead = holds, saidAhead elseif isOfLast then held = saidAhead end
  local more, moreAhead = held - me.granted, heldAhead - me.ahead
  me.granted, me.ahead = held, heldAhead
  if isHere and markEpoch == epoch and markRev >= rev then
    epoch, since, informedWin = max(epoch + 1, floor(nowMs)), 0, -1
  end
  local isLost = (isHere or (isOfLast and epoch >= floor(win * windowMs))) and markEpoch ~= epoch
  if isLost then
    local known, knownAhead = 0, 0
    for i = 1, count do known, knownAhead = known + members[i].granted, knownAhead + members[i].ahead end
    if isHere then
      granted = max(granted, markTotal + since, known)
      ahead = max(ahead, markAhead, knownAhead)
    else
      granted = max(granted, markAhead + since, known)
      ahead = max(ahead, knownAhead)
    end
    heard = heard + 1
    if knownWin > informedWin then informedEpoch = -1 end
    local isLater = markEpoch > informedEpoch or (markEpoch == informedEpoch and markRev > informedRev)
    if knownWin >= informedWin and isLater then
      informedWin, informedEpoch, informedRev, awaited = knownWin, markEpoch, markRev, markMembers
    end
  else
    granted, since, ahead = max(0, granted + more), since + more, max(0, ahead + moreAhead)
  end
  if (isLost or max(more, moreAhead) > fuzz) and lostEpoch ~= epoch then lostMs, lostEpoch = nowMs, epoch end
  if isLost and unheard() == 0 and granted == 0 then lostMs = nowMs - LONGEST_GRACE * graceMs end
end
local function witnesses()
  local sinceMs, atWork = nowMs - graceMs, 0
  if restOfGrace() > 0 then atWork = unheard() end
  for i = 1, count do
    local m = members[i]
    if m.seenMs > sinceMs and weightOf(m) > 0 then atWork = atWork + 1 end
  end
  return atWork
end

${LEASE_LOANS}

-- The answer: a new one, the last one again, or none to a call that comes after a later one.
local leftMs = (win + 1) * windowMs - nowMs
if seq > me.seq then
  rev = rev + 1
  me.seq, me.seenMs, me.hasCalled = seq, nowMs, 1
  changed[number] = true
  hold()
  me.quietWeight, me.quietUsed, me.idle = quietWeight, 0, 0
  if isHere then me.quietUsed, me.idle = quietUsed, max(0, holds - spent) end
  for i = FIRST_TENANT, #ARGV, TENANT do
    local used = 0
    if isHere then used = tonumber(ARGV[i + 2]) end
    report(ARGV[i], tonumber(ARGV[i + 1]), used, tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4]))
  end

  for i = 1, #active do w[i], g[i] = active[i][3], active[i][4] end
  n = #active
  local lenders = {}
  for i = 1, #large do lenders[i] = {large[i][3], large[i][4]} end
  local function lendersClaim(level, elapsed)
    local sum = 0
    for i = 1, #lenders do sum = sum + claimOf(lenders[i][1], lenders[i][2], level, elapsed) end
    return sum
  end
  local function lentAt(level, elapsed) return min(lent, lendersClaim(level, elapsed)) end
  for i = 1, count do
    local m = members[i]
    if isPresent(m) then
      n = n + 1
      w[n], g[n] = m.quietWeight, m.quietUsed
    end
  end
  local weights, most = 0, 0
  for i = 1, n do weights = weights + w[i] end
  if weights > 0 then most = (limit + carried) / weights end
  local left = leftSaid or max(0, limit - granted)
  local before = min(most, level)
  local function kept(m) return min(m.idle, memberClaim(m, before, elapsed)) end
  local idle = 0
  for i = 1, count do if isPresent(members[i]) then idle = idle + kept(members[i]) end end
  local now = levelOf(most, left + idle + lentAt(before, elapsed), elapsed)
  lent = lentAt(now, elapsed)
  if weights > 0 then level, due = now, max(now, limit / weights) + fuzz / weights else level, due = HUGE, HUGE end
  local grant = 0
  me.room, me.waitMs = 0, 0
  local rest = restOfGrace()
  if need > 0 and rest > 0 then
    me.waitMs = rest
  elseif ARGV[FIRST_TENANT] then
    local tenant = tenants[ARGV[FIRST_TENANT]]
    local used = tenant[2]
    askerWeight, askerGranted = tenant[1], used + me.idle
    local full, keptHere, available = max(need, quantum), kept(me), min(left + fuzz, reach)
    local lends = tenant[8] >= 2
    local function freeAt(level, elapsed)
      local own, some = claimOf(askerWeight, used, level, elapsed), lentAt(level, elapsed)
      local ofOthers = some
      if lends and some > 0 then ofOthers = some - (some / lendersClaim(level, elapsed)) * own end
      local others = claimsAt(level, elapsed) - own - ofOthers
      return left - max(0, others - (idle - keptHere))
    end
    local free = freeAt(now, elapsed)
    local exceeds, lendable, lentPart, keeps = need > askerWeight * due - tenant[7], lendersClaim(now, elapsed), 0, 1
    if lendable > 0 then lentPart = lent / lendable end
    if lends then keeps = 1 - lentPart end
    if need > 0 then
      stand(tenant, -1)
      if need <= left + fuzz then
        local claim = min(left, claimOf(askerWeight, askerGranted, now, elapsed) * keeps)
        if full <= claim + fuzz then
          grant = full
        elseif need <= claim + fuzz then
          grant = max(need, claim)
        else
          grant = loan(available, free)
        end
        if grant == 0 and exceeds and isFirst(available) then
          local own = 0
          if lends then own = claimOf(askerWeight, used, now, elapsed) end
          local room = free + (lendable - own) * (1 - lentPart) + fuzz
          if need + owed(need, available) <= room then grant = need end
          if grant > 0 then lent = lent + max(0, need - free) end
        end
      end
      if grant > 0 then
        if need >= failed then failed = HUGE end
        sum(tenant, -1)
        local at = placeOf(tenant)
        tenant[at + 2], tenant[2] = tenant[at + 2] + grant, tenant[2] + grant
        sum(tenant, 1)
        wantsMore(tenant, 0)
      else
        wantsMore(tenant, 1)
        if exceeds then tenant[8] = 3 end
        local function freeIn(part)
          local later = elapsedAt(nowMs + part * windowMs)
          return freeAt(levelOf(most, left + idle + lentAt(now, later), later), later)
        end
        local wait = LONGEST_WAIT
        if freeIn(SHORTEST_WAIT) >= full then
          wait = SHORTEST_WAIT
        elseif freeIn(WAIT) >= need then
          wait = WAIT
        end
        if need > left + fuzz then me.waitMs = leftMs else me.waitMs = min(leftMs, wait * windowMs) end
        backMs = max(backMs, nowMs + LATE * me.waitMs)
        tenant[5], tenant[6] = need, slot
      end
      stand(tenant, 1)
    end
    me.room = max(0, free - grant)
    me.granted = me.granted + grant
    granted = granted + grant
    since = since + grant
  end
  me.grant = grant
  if wants > me.ahead and isHere and lostEpoch ~= epoch then
    local some = min(min(wants, limit * partOfMe()) - me.ahead, limit - ahead)
    if some > 0 then me.ahead, ahead = me.ahead + some, ahead + some end
  end
  me.held = min(max(0, left - grant), max(0, memberClaim(me, now, elapsed) - me.idle))
  for name, tenant in pairs(tenants) do write(name, join(tenant), tenantWrites) end
end

for i in pairs(changed) do
  local m, list = members[i], {}
  for j = 1, #MEMBER do list[j] = m[MEMBER[j]] end
  write('m:' .. i, join(list))
end
write('head', join({win, nowMs, epoch, rev, granted, since, ahead, level, lostMs, lostEpoch, heard, awaited,
  informedWin, informedEpoch, informedRev, slot, count, fadesFromMs, backMs, carried, leastShare, mostAhead,
  entry, levelBefore, due, lent, reach, failed}))
write('active', lineOf(active))
write('line', lineOf(line))
write('lineBefore', lineOf(lineBefore))
write('wanting', lineOf(wanting))
write('large', lineOf(large))
save(key, writes)
save(tenantsOf(win), tenantWrites)
for _, hash in ipairs({key, tenantsOf(win)}) do
  redis.call('PEXPIREAT', hash, string.format('%.0f', (win + 2) * windowMs))
end

local grant, room = 0, 0
local isLast = seq == me.seq
if isLast then grant, room = me.grant, me.room end
local answer = {win, leftMs, epoch, rev, granted, ahead, witnesses(), grant, me.ahead, me.held, partOfMe(), turn(),
  room, me.waitMs}
for i = 1, #answer do answer[i] = text(answer[i]) end
if isLast then
  for i = FIRST_TENANT, #ARGV, TENANT do
    local tenant = tenants[ARGV[i]]
    local share, used = tenant[placeOf(tenant) + 3], tenant[2]
    -- What is granted with this is not used yet.
    if i == FIRST_TENANT then used = used - me.grant end
    answer[#answer + 1] = text(share)
    answer[#answer + 1] = text(share * used)
  end
end
return answer
`
