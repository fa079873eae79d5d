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
    for i = 1, #strata do
      local one = strata[i]
      if (one[4] + one[5]) / one[3] < tag - 1e-9 then
        total = total + (one[3] * tag - one[4])
        if one[5] / one[2] <= available then isTurn = false end
      end
    end
  end
  if isTurn then return 0 end
  return total
end
-- Whether it is the first of those that were refused more than their part, of calls that may be granted.
local function isFirst(available)
  local tag = (askerGranted + need) / askerWeight
  for i = 1, #large do
    local one = large[i]
    if one[5] / one[2] <= available and (one[4] + one[5]) / one[3] < tag - 1e-9 then return false end
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
    for i = 1, #strata do
      local one = strata[i]
      least = min(least, (one[4] + one[5] + one[2] * AHEAD * quantum) / one[3])
    end
  end
  return max(level, least)
end
`
