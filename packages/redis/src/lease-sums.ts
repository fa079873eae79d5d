/**
 * The arithmetic of the lease script, in Lua: numbers as text, strata of tenants, claims, the level, and members. It
 * repeats `members.ts` and `pool.ts` of the pool of `@fairlead/core`, step by step.
 */
export const LEASE_SUMS: string = `
local max, min, floor, sqrt = math.max, math.min, math.floor, math.sqrt
local RESOLUTION = 1024

local function text(number) return string.format('%.17g', number) end
-- Lists, as they are kept: as MessagePack, which loses nothing, and takes a tenth of the time of text.
local pack, restore = cmsgpack.pack, cmsgpack.unpack

-- Strata of tenants, in order, as columns: where, how many, what they weigh, have used, and were refused.
local AT, COUNT, WEIGHT, USED, ASK = 1, 2, 3, 4, 5
local function noStrata() return {{}, {}, {}, {}, {}} end
local function removeStratum(strata, i) for column = AT, ASK do table.remove(strata[column], i) end end
local function layer(strata, at, weight, used, ask, sign)
  local ats, counts, weights, useds, asks = strata[AT], strata[COUNT], strata[WEIGHT], strata[USED], strata[ASK]
  local low, high = 1, #ats + 1
  while low < high do
    local middle = floor((low + high) / 2)
    if ats[middle] < at then low = middle + 1 else high = middle end
  end
  if ats[low] ~= at then
    for column = AT, ASK do table.insert(strata[column], low, 0) end
    ats[low] = at
  end
  counts[low], weights[low] = counts[low] + sign, weights[low] + sign * weight
  useds[low], asks[low] = useds[low] + sign * used, asks[low] + sign * ask
  if counts[low] <= 0 then removeStratum(strata, low) end
end
local function stratumOf(share) return floor(RESOLUTION * sqrt(sqrt(sqrt(sqrt(share))))) end

-- Claims and the level, of claimants that stand in w (weights) and g (granted), when this part of the window is over.
local w, g, n = {}, {}, 0
local function claimOf(weight, gone, level, elapsed)
  local guarantee = weight * level
  gone = max(gone, guarantee * elapsed)
  if guarantee > gone then return guarantee - gone end
  return 0
end
local function claimsAt(level, elapsed)
  local sum = 0
  for i = 1, n do sum = sum + claimOf(w[i], g[i], level, elapsed) end
  return sum
end
local function levelOf(most, left, elapsed)
  if claimsAt(most, elapsed) <= left then return most end
  local bends = {0}
  for i = 1, n do
    if w[i] > 0 then
      local begins = g[i] / w[i]
      if begins < most then bends[#bends + 1] = begins end
      if elapsed > 0 and begins / elapsed < most then bends[#bends + 1] = begins / elapsed end
    end
  end
  table.sort(bends)
  local low, high = 0, #bends
  while high - low > 1 do
    local middle = floor((low + high) / 2)
    if claimsAt(bends[middle + 1], elapsed) <= left then low = middle else high = middle end
  end
  local bend = bends[low + 1]
  local slope, offset = 0, left
  for i = 1, n do
    if w[i] > 0 and g[i] / w[i] <= bend then
      if elapsed > 0 and g[i] / w[i] / elapsed <= bend then
        slope = slope + w[i] * (1 - elapsed)
      else
        slope = slope + w[i]
        offset = offset + g[i]
      end
    end
  end
  if slope > 0 then return min(most, offset / slope) end
  return bend
end

-- Members: what they weigh and have used is summed up by the tenants' place, which is 0, 1 or 2.
local NAME, SEEN_MS, HAS_CALLED, GRANTED, NEXT, IDLE, QUIET_WEIGHT, QUIET_USED = 1, 2, 3, 4, 5, 6, 7, 8
local BEHIND, BEHIND_USED, WITHIN, WITHIN_USED, OVER = 9, 10, 11, 12, 13
local SEQ, GRANT, HELD, ROOM, WAIT_MS = 15, 16, 17, 18, 19
local function newMember(name, seenMs, seq, weight, granted)
  return {name, seenMs, 0, granted, 0, 0, weight, 0, 0, 0, 0, 0, 0, 0, seq, 0, 0, 0, 0}
end
local function weightOf(m)
  return m[QUIET_WEIGHT] + max(0, m[BEHIND]) + max(0, m[WITHIN]) + max(0, m[OVER])
end
local function memberClaim(m, level, elapsed)
  return claimOf(max(0, m[WITHIN]), max(0, m[WITHIN_USED]), level, elapsed)
    + claimOf(m[QUIET_WEIGHT] + max(0, m[BEHIND]), m[QUIET_USED] + max(0, m[BEHIND_USED]), level, elapsed)
end
`
