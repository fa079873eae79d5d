/**
 * The tenants of a pool, in Lua: how the lease script reads them, what a member's report of one changes, what is lent
 * to one beyond its claim, and whose turn it is. It repeats `members.ts`, and `loan` and `turn` of `pool.ts`, of
 * `@fairlead/core`, step by step.
 */
export const LEASE_TENANTS: string = `-- Each tenant's weight, and what it has used in all: as one in its stratum, and split between its members.
local FIRST_PLACE = 9
local tenants, carriedFrom = {}, {}
-- All are ahead of another by a window's budget at most, and what it waits for; additional weight is a newcomer.
local function leastAhead(ask) return max(0, entry - ask) end
local function reweighed(amount, before, weight)
  if weight > before then return amount + (weight - before) * leastAhead(0) end
  return amount * (weight / before)
end
local function wantsMore(tenant, flag) tenant[8] = tenant[8] - tenant[8] % 2 + flag end
local function stand(tenant, sign)
  local weight, used, ask = tenant[1], tenant[2], tenant[5]
  local at = stratumOf(used / weight)
  if tenant[4] == 1 then
    layer(active, at, weight, used, ask, sign)
    carried = carried + sign * tenant[7]
    if tenant[8] % 2 == 1 then layer(wanting, at, weight, used, ask, sign) end
    if tenant[8] >= 2 then layer(large, at, weight, used, ask, sign) end
  end
  if ask > 0 and tenant[6] == slot then
    layer(line, at, weight, used, ask, sign)
  elseif ask > 0 and tenant[6] == slot - 1 then
    layer(lineBefore, at, weight, used, ask, sign)
  end
end
local function sum(tenant, sign)
  local weight, used, place = tenant[1], tenant[2], BEHIND + 2 * tenant[3]
  for j = FIRST_PLACE, #tenant, 4 do
    local at, part = members[tenant[j]], tenant[j + 3]
    -- What is added for no part is nothing.
    if part > 0 then
      at[place] = at[place] + sign * weight * part
      at[place + 1] = at[place + 1] + sign * used * part
    end
  end
end
local function placeOf(tenant)
  for j = FIRST_PLACE, #tenant, 4 do if tenant[j] == number then return j end end
end
local function readTenants()
  local names, before = {}, {}
  for i = FIRST_TENANT, #ARGV, TENANT do names[#names + 1] = ARGV[i] end
  if not names[1] then return end
  local lines = redis.call('HMGET', tenantsOf(win), unpack(names))
  if mostAhead > 0 then before = redis.call('HMGET', tenantsOf(win - 1), unpack(names)) end
  for i = 1, #names do
    if lines[i] then
      tenants[names[i]] = restore(lines[i])
    elseif before[i] then
      local last, ask, own = restore(before[i]), 0, 0
      local wanted = last[8] % 2 == 1 and last[5] <= reach
      if wanted then ask = last[5] / last[1] end
      if wanted or last[2] * (1 + 1e-9) >= last[1] * levelBefore then own = min(mostAhead, last[2] / last[1] - leastShare) end
      local ahead = max(own, leastAhead(ask))
      carriedFrom[names[i]] = {last[1] * ahead, last[1]}
    end
  end
end

local function report(name, weight, used, rate, ask)
  local tenant = tenants[name]
  if tenant then
    stand(tenant, -1)
    sum(tenant, -1)
  else
    local from, amount = carriedFrom[name], weight * leastAhead(0)
    if from then amount = reweighed(from[1], from[2], weight) end
    tenant = {weight, 0, 0, 0, 0, 0, amount, 0}
    tenants[name] = tenant
  end
  local at = placeOf(tenant)
  if not at then
    at = #tenant + 1
    tenant[at], tenant[at + 2], tenant[at + 3] = number, 0, 0
  end
  if ask > 0 then wantsMore(tenant, 1) elseif used > tenant[at + 2] then wantsMore(tenant, 0) end
  tenant[at + 1], tenant[at + 2] = rate, used
  if weight ~= tenant[1] then tenant[7], tenant[1] = reweighed(tenant[7], tenant[1], weight), weight end
  tenant[2] = tenant[7]
  local rates = 0
  for j = FIRST_PLACE, #tenant, 4 do
    tenant[2] = tenant[2] + tenant[j + 2]
    if present[tenant[j]] then rates = rates + tenant[j + 1] end
  end
  if rates > 0 then tenant[4] = 1 else tenant[4] = 0 end
  if ask > 0 then tenant[5], tenant[6] = ask, slot end
  if ask > 0 and ask > weight * due - tenant[7] then tenant[8] = 3 end
  local share = tenant[2] / weight
  if share < level * elapsed then tenant[3] = 0 elseif share < level then tenant[3] = 1 else tenant[3] = 2 end
  for j = FIRST_PLACE, #tenant, 4 do
    tenant[j + 3] = 0
    if rates > 0 and present[tenant[j]] then tenant[j + 3] = tenant[j + 1] / rates end
  end
  sum(tenant, 1)
  stand(tenant, 1)
end

-- What has to be left to others if the tenant that asks gets cost, and what is granted beyond its claim.
local askerWeight, askerGranted
local function owed(cost, available)
  local tag = (askerGranted + cost) / askerWeight
  local total, isTurn = 0, true
  for _, strata in ipairs({lineBefore, line}) do
    for i = 1, #strata[AT] do
      local weight, used, ask = strata[WEIGHT][i], strata[USED][i], strata[ASK][i]
      if (used + ask) / weight < tag - 1e-9 then
        total = total + (weight * tag - used)
        if ask / strata[COUNT][i] <= available then isTurn = false end
      end
    end
  end
  if isTurn then return 0 end
  return total
end
-- Whether it is the first of those that were refused more than their part, of calls that may be granted.
local function isFirst(available)
  local tag = (askerGranted + need) / askerWeight
  for i = 1, #large[AT] do
    local ask = large[ASK][i]
    if ask / large[COUNT][i] <= available and (large[USED][i] + ask) / large[WEIGHT][i] < tag - 1e-9 then return false end
  end
  return true
end
local function loan(available, free)
  local room = free + fuzz
  local inTurn = max(need, min(quantum, free))
  if owed(need, available) == 0 then
    if need <= room then return inTurn end
    return 0
  end
  if max(need, quantum) <= room and owed(need - quantum, available) == 0 then return inTurn end
  for _, part in ipairs({1, 1 / 2, 1 / 4}) do
    local some = max(need, part * quantum)
    if some + owed(some, available) <= room then return some end
  end
  return 0
end
local function turn()
  local least = HUGE
  for _, strata in ipairs({lineBefore, line}) do
    for i = 1, #strata[AT] do
      local ahead = strata[COUNT][i] * AHEAD * quantum
      least = min(least, (strata[USED][i] + strata[ASK][i] + ahead) / strata[WEIGHT][i])
    end
  end
  return max(level, least)
end
`
