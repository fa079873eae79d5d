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
 *   the time since which claims fade, the time by which all refused tenants are back, what tenants carry, the
 *   least share and the most ahead, what a newcomer begins with, the level of the window before, the
 *   part of the limit for weight 1, and what tenants refused more than their part have lent, the cost up
 *   to which calls have precedence, and the least one for which all was kept in vain
 * - `strata`: of tenants that are active, in line in this slot and in the last, that want more, and that lend
 * - `members`: in order of arrival, which is their number; each as in the sums
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
local function tenantsOf(win) return KEYS[2 + win % 2] end

-- What is known.
local time = redis.call('TIME')
local storeMs = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local begunMs = knownWin * windowMs
if storeMs < begunMs and storeMs >= begunMs - windowMs then storeMs = begunMs end
local headLine, strataLine, membersLine = unpack(redis.call('HMGET', key, 'head', 'strata', 'members'))
local win, nowMs, epoch, rev, granted, since, ahead, level, lostMs, lostEpoch
local heard, awaited, informedWin, informedEpoch, informedRev, slot, fadesFromMs, backMs
local due, lent, reach, failed = HUGE, 0, HUGE, HUGE
local carried, leastShare, mostAhead, entry, levelBefore = 0, 0, 0, 0, 0
local members = {}
local active, line, lineBefore, wanting, large = noStrata(), noStrata(), noStrata(), noStrata(), noStrata()
if headLine then
  win, nowMs, epoch, rev, granted, since, ahead, level, lostMs, lostEpoch, heard, awaited,
    informedWin, informedEpoch, informedRev, slot, fadesFromMs, backMs, carried, leastShare, mostAhead,
    entry, levelBefore, due, lent, reach, failed = unpack(restore(headLine))
  active, line, lineBefore, wanting, large = unpack(restore(strataLine))
  members = restore(membersLine)
  if nowMs - storeMs > windowMs then nowMs = storeMs else nowMs = max(nowMs, storeMs) end
else
  win, nowMs, ahead, epoch, lostMs, lostEpoch, heard, awaited = -2, storeMs, 0, 0, 0, -1, 0, 0
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
local function reachOf(before, failedBefore)
  local weights, used = 0, 0
  for _, m in ipairs(members) do weights, used = weights + m[QUIET_WEIGHT], used + m[QUIET_USED] end
  local quiet = weights
  for i = 1, #active[AT] do weights = weights + active[WEIGHT][i] end
  local left, due = max(0, limit - granted), 0
  if weights > 0 then due = (limit / weights) * TIE end
  local function keptBy(weight, used) return min(due * weight, used + due * weight * RETRY) end
  local most = limit * TIE - keptBy(quiet, used)
  local function keep(strata, sign)
    for i = 1, #strata[AT] do
      local weight, used = strata[WEIGHT][i], strata[USED][i]
      if used <= due * weight then most = most + sign * keptBy(weight, used) end
    end
  end
  keep(active, -1)
  keep(wanting, 1)
  local failed, first, stays = HUGE, HUGE, false
  for i = 1, #wanting[AT] do
    local weight, used, ask = wanting[WEIGHT][i], wanting[USED][i], wanting[ASK][i]
    if ask > due * weight then
      local cost, tag = ask / wanting[COUNT][i], (used + ask) / weight
      if cost * TIE >= failedBefore then stays = true end
      if left > most - left and cost <= min(left * TIE, before) and tag < first then failed, first = cost, tag end
    end
  end
  if stays then failed = failedBefore end
  return min(most, failed / TIE / TIE), failed
end
local now = floor(nowMs / windowMs)
if now ~= win then
  local carriedBefore = carried
  carried, leastShare, mostAhead, entry, levelBefore = 0, 0, 0, 0, 0
  local reachBefore, failedBefore = reach, failed
  reach, failed = HUGE, HUGE
  if headLine and now == win + 1 then
    reach, failed = reachOf(reachBefore, failedBefore)
    local weightsOf, usedOf, askOf = wanting[WEIGHT], wanting[USED], wanting[ASK]
    for i = #askOf, 1, -1 do if askOf[i] / wanting[COUNT][i] > reach then removeStratum(wanting, i) end end
    if askOf[1] then
      leastShare, mostAhead = usedOf[1] / weightsOf[1], level
      for i = 1, #askOf do mostAhead = max(mostAhead, askOf[i] / weightsOf[i]) end
      local function aheadOf(i) return max(0, min(mostAhead, usedOf[i] / weightsOf[i] - leastShare)) end
      local weights, used = 0, 0
      for i = 1, #active[AT] do weights, used = weights + active[WEIGHT][i], used + active[USED][i] end
      local budget, weight, above = max(level * weights, used) - carriedBefore, 0, 0
      for i = #askOf, 1, -1 do
        local ahead = aheadOf(i)
        if above - weight * ahead >= budget then break end
        weight, above = weight + weightsOf[i], above + weightsOf[i] * ahead
      end
      if weight > 0 then entry = max(0, (above - budget) / weight) end
      local common = entry
      for i = 1, #askOf do common = min(common, max(aheadOf(i), entry - askOf[i] / weightsOf[i])) end
      leastShare, mostAhead, entry = leastShare + common, mostAhead - common, entry - common
      levelBefore = level
    end
    local last = members
    members = {}
    for _, m in ipairs(last) do
      local weight = weightOf(m)
      if m[HAS_CALLED] == 1 and (weight > 0 or m[NEXT] > 0) then
        members[#members + 1] = newMember(m[NAME], now * windowMs, m[SEQ] - 0.5, weight, m[NEXT])
      end
    end
  else
    members = {}
  end
  active, line, lineBefore, wanting, large = noStrata(), noStrata(), noStrata(), noStrata(), noStrata()
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
end
local slotNow = floor(nowMs / (windowMs * SLOT))
if slotNow ~= slot then
  if slotNow == slot + 1 then lineBefore = line else lineBefore = noStrata() end
  line, slot = noStrata(), slotNow
end
local number = 1
while members[number] and members[number][NAME] ~= name do number = number + 1 end
if not members[number] then members[number] = newMember(name, nowMs, 0, 0, 0) end
local count = #members
local me = members[number]
-- The part of the time in which claims fade that is over.
local function elapsedAt(atMs)
  return min(1, max(0, (atMs - fadesFromMs) / ((win + 1) * windowMs - fadesFromMs)))
end
local elapsed = elapsedAt(nowMs)
local fuzz = min(1e-3, 1e-9 * limit)
local isHere = knownWin == win
if seq > me[SEQ] then me[SEEN_MS] = nowMs end
local present = {}
for i = 1, count do present[i] = members[i][SEEN_MS] > nowMs - windowMs * LAPSE end
-- The member's part of all weight.
local function partOfMe()
  local weights = 0
  for i = 1, count do if present[i] then weights = weights + weightOf(members[i]) end end
  if weights > 0 then return weightOf(me) / weights end
  return 0
end

${LEASE_TENANTS}
if seq >= me[SEQ] then readTenants() end

local function hold()
  local isOfLast = knownWin >= 0 and knownWin == win - 1
  local held, heldAhead = 0, 0
  if isHere then held, heldAhead = holds, saidAhead elseif isOfLast then held = saidAhead end
  local more, moreAhead = held - me[GRANTED], heldAhead - me[NEXT]
  me[GRANTED], me[NEXT] = held, heldAhead
  if isHere and markEpoch == epoch and markRev >= rev then
    epoch, since, informedWin = max(epoch + 1, floor(nowMs)), 0, -1
  end
  local isLost = (isHere or (isOfLast and epoch >= floor(win * windowMs))) and markEpoch ~= epoch
  if isLost then
    local known, knownAhead = 0, 0
    for i = 1, count do known, knownAhead = known + members[i][GRANTED], knownAhead + members[i][NEXT] end
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
    if m[SEEN_MS] > sinceMs and weightOf(m) > 0 then atWork = atWork + 1 end
  end
  return atWork
end

-- The answer: a new one, the last one again, or none to a call that comes after a later one.
local leftMs = (win + 1) * windowMs - nowMs
if seq > me[SEQ] then
  rev = rev + 1
  me[SEQ], me[HAS_CALLED] = seq, 1
  hold()
  me[QUIET_WEIGHT], me[QUIET_USED], me[IDLE] = quietWeight, 0, 0
  if isHere then me[QUIET_USED], me[IDLE] = quietUsed, max(0, holds - spent) end
  for i = FIRST_TENANT, #ARGV, TENANT do
    local used = 0
    if isHere then used = tonumber(ARGV[i + 2]) end
    report(ARGV[i], tonumber(ARGV[i + 1]), used, tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4]))
  end

  n = #active[AT]
  for i = 1, n do w[i], g[i] = active[WEIGHT][i], active[USED][i] end
  local lenders = {}
  for i = 1, #large[AT] do lenders[i] = {large[WEIGHT][i], large[USED][i]} end
  local function lendersClaim(level, elapsed)
    local sum = 0
    for i = 1, #lenders do sum = sum + claimOf(lenders[i][1], lenders[i][2], level, elapsed) end
    return sum
  end
  local function lentAt(level, elapsed) return min(lent, lendersClaim(level, elapsed)) end
  for i = 1, count do
    local m = members[i]
    if present[i] then
      n = n + 1
      w[n], g[n] = m[QUIET_WEIGHT], m[QUIET_USED]
    end
  end
  local weights, most = 0, 0
  for i = 1, n do weights = weights + w[i] end
  if weights > 0 then most = (limit + carried) / weights end
  local left = leftSaid or max(0, limit - granted)
  local before = min(most, level)
  local function kept(m) return min(m[IDLE], memberClaim(m, before, elapsed)) end
  local idle = 0
  for i = 1, count do if present[i] then idle = idle + kept(members[i]) end end
  local now = levelOf(most, left + idle + lentAt(before, elapsed), elapsed)
  lent = lentAt(now, elapsed)
  if weights > 0 then level, due = now, max(now, limit / weights) + fuzz / weights else level, due = HUGE, HUGE end
  local grant = 0
  me[ROOM], me[WAIT_MS] = 0, 0
  local rest = restOfGrace()
  if need > 0 and rest > 0 then
    me[WAIT_MS] = rest
  elseif ARGV[FIRST_TENANT] then
    local tenant = tenants[ARGV[FIRST_TENANT]]
    local used = tenant[2]
    askerWeight, askerGranted = tenant[1], used + me[IDLE]
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
        local reserved = min(left, (memberClaim(me, now, elapsed) - me[IDLE]) * (1 - lentPart))
        local function own(gone) return claimOf(askerWeight, gone, now, elapsed) * keeps end
        local besides = 0
        if lostEpoch ~= epoch then besides = min(own(used), reserved) end
        local claim = min(left, max(own(askerGranted), besides))
        if need <= claim + fuzz then
          grant = max(need, min(full, max(claim, reserved)))
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
        if need > left + fuzz then me[WAIT_MS] = leftMs else me[WAIT_MS] = min(leftMs, wait * windowMs) end
        backMs = max(backMs, nowMs + LATE * me[WAIT_MS])
        tenant[5], tenant[6] = need, slot
      end
      stand(tenant, 1)
    end
    me[ROOM] = max(0, free - grant)
    me[GRANTED] = me[GRANTED] + grant
    granted = granted + grant
    since = since + grant
  end
  me[GRANT] = grant
  if wants > me[NEXT] and isHere and lostEpoch ~= epoch then
    local some = min(min(wants, limit * partOfMe()) - me[NEXT], limit - ahead)
    if some > 0 then me[NEXT], ahead = me[NEXT] + some, ahead + some end
  end
  me[HELD] = min(max(0, left - grant), max(0, memberClaim(me, now, elapsed) - me[IDLE]))
  local writes = {}
  for name, tenant in pairs(tenants) do
    writes[#writes + 1] = name
    writes[#writes + 1] = pack(tenant)
  end
  if writes[1] then redis.call('HSET', tenantsOf(win), unpack(writes)) end
end

redis.call('HSET', key, 'head', pack({win, nowMs, epoch, rev, granted, since, ahead, level, lostMs, lostEpoch,
  heard, awaited, informedWin, informedEpoch, informedRev, slot, fadesFromMs, backMs, carried, leastShare, mostAhead,
  entry, levelBefore, due, lent, reach, failed}), 'strata', pack({active, line, lineBefore, wanting, large}),
  'members', pack(members))
for _, hash in ipairs({key, tenantsOf(win)}) do
  redis.call('PEXPIREAT', hash, string.format('%.0f', (win + 2) * windowMs))
end

local grant, room = 0, 0
local isLast = seq == me[SEQ]
if isLast then grant, room = me[GRANT], me[ROOM] end
local answer = {win, leftMs, epoch, rev, granted, ahead, witnesses(), grant, me[NEXT], me[HELD], partOfMe(), turn(),
  room, me[WAIT_MS]}
for i = 1, #answer do answer[i] = text(answer[i]) end
if isLast then
  for i = FIRST_TENANT, #ARGV, TENANT do
    local tenant = tenants[ARGV[i]]
    local share, used = tenant[placeOf(tenant) + 3], tenant[2]
    -- What is granted with this is not used yet.
    if i == FIRST_TENANT then used = used - me[GRANT] end
    answer[#answer + 1] = text(share)
    answer[#answer + 1] = text(share * used)
  end
end
return answer
`
