/**
 * What the lease script lends beyond a claim, and whose turn it is, in Lua. It repeats `loan` and `turn` of the pool of
 * `@fairlead/core`, step by step.
 */
export const LEASE_LOANS: string = `-- What has to be left to others if the tenant that asks gets cost, and what is granted beyond its claim.
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
